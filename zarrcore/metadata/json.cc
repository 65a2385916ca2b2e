#include "zarrcore/metadata/json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "zarrcore/base/printable.h"
#include "zarrcore/metadata/json_repair.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

// ParseJson() turns a bare literal, or an integer beyond 64 bits, into a string that begins with
// this mark. A document with a string that already begins with the mark is refused, so every marked
// string represents a literal or an integer.
constexpr std::string_view kMark = "\0#"sv;
constexpr std::array kLiterals = {"NaN"sv, "Infinity"sv, "-Infinity"sv};
// The number of characters added to a literal: the opening quote, the mark and the closing quote.
constexpr size_t kMarkedGrowth = kMarkInText.size() + 2;

constexpr size_t kMaxExcerptEntries = 100;
// Maximum total indentation of a document in bytes. Without a limit, the indentation of many deep
// values could be hundreds of times longer than the values.
constexpr size_t kMaxIndentation = size_t{16} << 20;

// A double represents all integers up to this magnitude exactly.
constexpr double kMaxExactInteger = 9007199254740992.0;  // 2^53

struct MarkedText {
  std::string text;
  std::vector<size_t> ends;  // where each marked literal ends: offsets in `text`
};

// True if `literal` consists of digits, with an optional minus sign.
bool IsIntegerLiteral(std::string_view literal) {
  if (literal.starts_with('-')) literal.remove_prefix(1);
  return !literal.empty() && literal.find_first_not_of("0123456789") == literal.npos;
}

bool HoldsBareLiteral(std::string_view text) {
  return text.find("NaN") != text.npos || text.find("Infinity") != text.npos;
}

MarkedText MarkBareLiterals(std::string_view text) {
  MarkedText marked;
  marked.text.reserve(text.size() + 1024);
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    if (in_string) {
      const size_t length = text[i] == '\\' ? std::min<size_t>(2, text.size() - i) : 1;
      if (text[i] == '"') in_string = false;
      marked.text.append(text, i, length);
      i += length;
      continue;
    }
    const auto* literal = std::find_if(kLiterals.begin(), kLiterals.end(), [&](auto candidate) {
      return text.substr(i, candidate.size()) == candidate;
    });
    if (literal != kLiterals.end()) {
      // If the literal touches another token, as in 1NaN, NaNs or "a"NaN, the added quotes cause
      // the required syntax error.
      marked.text.append("\"").append(kMarkInText).append(*literal).append("\"");
      marked.ends.push_back(marked.text.size());
      // Stop, because the parser will reject the document: it has too many values.
      if (marked.ends.size() > kMaxJsonValues) break;
      i += literal->size();
      continue;
    }
    in_string = text[i] == '"';
    marked.text.push_back(text[i]);
    ++i;
  }
  return marked;
}

// Builds a Json value from the parser's events. nlohmann's own builder compares every key with all
// earlier keys of its object, and copies all members whenever an object grows, so a hostile
// document would take hours.
class DocumentBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit DocumentBuilder(bool skips_what_is_too_deep) : skips_(skips_what_is_too_deep) {}

  bool null() override { return Place(nullptr); }
  bool boolean(bool value) override { return Place(value); }
  bool number_integer(number_integer_t value) override { return Place(value); }
  bool number_unsigned(number_unsigned_t value) override { return Place(value); }
  // The parser also calls this function for integers beyond 64 bits.
  bool number_float(number_float_t value, const string_t& literal) override {
    if (IsIntegerLiteral(literal)) return Place(fmt::format("{}{}", kMark, literal));
    return Place(value);
  }
  bool binary(binary_t&) override { return Refuse("binary value"); }

  bool string(string_t& value) override {
    if (skipped_ == 0 && value.starts_with(kMark)) ++marked_values_;
    return Place(std::move(value));
  }
  bool key(string_t& name) override {
    if (skipped_ > 0) return true;
    if (name.starts_with(kMark)) return Refuse("a name that is NaN, Infinity or a mark of them");
    open_.back().keys.push_back(std::move(name));
    return true;
  }

  bool start_object(size_t) override { return Open(true); }
  bool start_array(size_t) override { return Open(false); }
  bool end_object() override {
    if (skipped_ > 0) return EndSkipped();
    OpenContainer members = Close();
    const std::vector<bool> repeats = TakeLastOfEach(members);
    Json object = Json::object();
    auto& ordered = object.get_ref<Json::object_t&>();
    ordered.reserve(members.keys.size());
    for (size_t i = 0; i < members.keys.size(); ++i) {
      if (repeats[i]) continue;
      ordered.emplace_back(std::move(members.keys[i]), std::move(members.values[i]));
    }
    return Place(std::move(object));
  }
  bool end_array() override {
    if (skipped_ > 0) return EndSkipped();
    return Place(Json::array_t(std::move(Close().values)));
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    position_ = position;
    // The message has the form "[json.exception.parse_error.101] parse error at line 1, column 2:
    // syntax error while ...". Keep only the end of the message.
    std::string_view message = exception.what();
    if (const size_t end = message.find("] "); end != message.npos) message.remove_prefix(end + 2);
    if (message.starts_with("parse error")) {
      if (const size_t end = message.find(": "); end != message.npos) {
        message.remove_prefix(end + 2);
      }
    }
    error_ = AsciiExcerpt(message);
    return false;
  }

  Json root;
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] size_t position() const { return position_; }  // 0 if unknown
  [[nodiscard]] bool too_deep() const { return too_deep_; }
  [[nodiscard]] bool too_many() const { return values_ > kMaxJsonValues; }
  [[nodiscard]] size_t marked_values() const { return marked_values_; }

 private:
  struct OpenContainer {
    bool is_object;
    // For objects: one key per element of `values`, with repetitions.
    std::vector<std::string> keys;
    std::vector<Json> values;
  };

  // If a key is repeated, moves its last value to its first position. The result is true for its
  // other positions. Sorts instead of hashing, because an attacker can easily craft keys with equal
  // hashes.
  static std::vector<bool> TakeLastOfEach(OpenContainer& members) {
    const std::vector<std::string>& keys = members.keys;
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, [&](size_t a, size_t b) {
      const int compared = keys[a].compare(keys[b]);
      return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<bool> repeats(keys.size());
    for (size_t i = 1, first = 0; i < order.size(); ++i) {
      if (keys[order[i]] != keys[order[first]]) {
        first = i;
        continue;
      }
      repeats[order[i]] = true;
      members.values[order[first]] = std::move(members.values[order[i]]);
    }
    return repeats;
  }

  bool Place(Json value) {
    if (skipped_ > 0) return true;
    if (++values_ > kMaxJsonValues) return false;
    (open_.empty() ? root : open_.back().values.emplace_back()) = std::move(value);
    return true;
  }
  bool Open(bool is_object) {
    if (open_.size() >= static_cast<size_t>(kMaxJsonDepth)) {
      too_deep_ = true;
      if (skips_) ++skipped_;
      return skips_;
    }
    open_.push_back(OpenContainer{is_object, {}, {}});
    return true;
  }
  OpenContainer Close() {
    OpenContainer closed = std::move(open_.back());
    open_.pop_back();
    return closed;
  }
  bool EndSkipped() { return --skipped_ > 0 || Place(nullptr); }
  bool Refuse(std::string message) {
    error_ = std::move(message);
    return false;
  }

  const bool skips_;
  // The number of open containers below the maximum depth, whose values are skipped.
  size_t skipped_ = 0;
  std::vector<OpenContainer> open_;
  std::string error_;
  size_t position_ = 0;
  bool too_deep_ = false;
  size_t values_ = 0;
  size_t marked_values_ = 0;
};

std::string LineAndColumn(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t line_start = before.rfind('\n') + 1;  // 0 on the first line, because npos + 1 is 0
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1,
                     before.size() - line_start + 1);
}

Result<Json> Parse(std::string_view text, std::string_view key, std::vector<std::string>* notes) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  // The parser would treat a NUL byte as the end of the document and ignore everything after it.
  if (const size_t nul = text.find('\0'); nul != text.npos) {
    return Fail(ErrorCode::kDamaged, "{}: not JSON: NUL byte at {}", key, LineAndColumn(text, nul));
  }
  MarkedText marked;
  if (HoldsBareLiteral(text)) marked = MarkBareLiterals(text);
  const std::string_view parsed = marked.ends.empty() ? text : std::string_view(marked.text);

  DocumentBuilder builder(/*skips_what_is_too_deep=*/notes != nullptr);
  if (!Json::sax_parse(parsed.begin(), parsed.end(), &builder)) {
    if (builder.too_many() || marked.ends.size() > kMaxJsonValues) {
      return Fail(ErrorCode::kTooLarge, "{}: JSON has more than {} values", key, kMaxJsonValues);
    }
    if (builder.too_deep()) {
      return Fail(ErrorCode::kTooLarge, "{}: JSON nested deeper than {} levels", key,
                  kMaxJsonDepth);
    }
    if (builder.position() == 0) {
      return Fail(ErrorCode::kDamaged, "{}: not JSON: {}", key, builder.error());
    }
    size_t offset = builder.position() - 1;  // the offset of the last byte that the parser read
    const auto marks_before =
        std::upper_bound(marked.ends.begin(), marked.ends.end(), offset) - marked.ends.begin();
    offset -= static_cast<size_t>(marks_before) * kMarkedGrowth;
    return Fail(ErrorCode::kDamaged, "{}: not JSON at {}: {}", key, LineAndColumn(text, offset),
                builder.error());
  }
  // Every literal became a marked string. The document has fewer marked strings only if some were
  // nested too deeply and dropped. It has more only if it contained a marked string itself.
  if (builder.marked_values() > marked.ends.size() ||
      (builder.marked_values() < marked.ends.size() && !builder.too_deep())) {
    return Fail(ErrorCode::kDamaged, "{}: a string begins with \\u0000#, the mark of bare NaN",
                key);
  }
  if (builder.too_deep()) {
    notes->push_back(
        fmt::format("{}: values nested deeper than {} levels are left out", key, kMaxJsonDepth));
  }
  return std::move(builder.root);
}

// The approximate indentation in bytes if each value is on its own line.
size_t IndentationOf(const Json& json, size_t depth = 0) {
  if (!json.is_structured()) return 0;
  size_t bytes = 2 * (depth + 1) * json.size();
  for (const Json& each : json) bytes += IndentationOf(each, depth + 1);
  return bytes;
}

// An upper bound of the length of `text` as a JSON string in ASCII, quotes included.
uint64_t LengthOfString(std::string_view text) {
  constexpr uint64_t kEscaped = 6;  // the length of an escaped control character
  // The maximum number of escaped characters per byte of a non-ASCII character. A character of two
  // or three bytes becomes one escape of six characters, and a character of four bytes becomes two
  // escapes.
  constexpr uint64_t kOfByteAbove = 3;
  uint64_t length = 2;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte == 0x7f) {
      length += kEscaped;
    } else if (byte > 0x7f) {
      length += kOfByteAbove;
    } else {
      length += c == '"' || c == '\\' ? 2 : 1;
    }
  }
  return length;
}

uint64_t LengthOfText(const Json& json) {
  constexpr uint64_t kOfNumber = 24;
  constexpr uint64_t kOfLiteral = 5;
  constexpr uint64_t kSeparators = 2;
  if (const auto* text = json.get_ptr<const std::string*>()) return LengthOfString(*text);
  if (!json.is_structured()) return json.is_number() ? kOfNumber : kOfLiteral;
  uint64_t length = kSeparators;
  if (const auto* members = json.get_ptr<const Json::object_t*>()) {
    for (const auto& [name, value] : *members) {
      length += LengthOfString(name) + LengthOfText(value) + kSeparators;
    }
  } else {
    for (const Json& each : json) length += LengthOfText(each) + kSeparators;
  }
  return length;
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view key) {
  return Parse(text, key, nullptr);
}

Result<Json> ParseJson(std::string_view text, std::string_view key,
                       std::vector<std::string>& notes) {
  auto json = Parse(text, key, &notes);
  if (json || json.error().code == ErrorCode::kTooLarge) return json;
  const RepairedJson repair = RepairJson(text);
  if (repair.changes.empty()) return json;
  auto repaired = Parse(repair.text, key, &notes);
  if (!repaired) return json;
  for (const std::string& change : repair.changes) {
    notes.push_back(fmt::format("{}: {}", key, change));
  }
  return repaired;
}

uint64_t MemoryToParse(std::string_view text) {
  // Memory in bytes per value: its slot in the list of its container, which may have twice the
  // needed capacity, and the value itself.
  constexpr uint64_t kOfValue = 128;
  // Additional memory in bytes per member of an object: its name, and its slot while the object is
  // built.
  constexpr uint64_t kOfMember = 96;
  // Memory in bytes per character of `text`: the document, its marked or repaired copy, the strings
  // in it, and the string being read.
  constexpr uint64_t kOfCharacter = 4;
  uint64_t bytes = kOfValue + text.size() * kOfCharacter;
  // Each value except the first follows a comma, a bracket or a brace. A colon follows each name.
  for (const char c : text) {
    if (c == ',' || c == '[' || c == '{') bytes += kOfValue;
    if (c == ':') bytes += kOfMember;
  }
  return bytes;
}

std::optional<double> NonFinite(const Json& json) {
  const auto* text = json.get_ptr<const std::string*>();
  if (text == nullptr || !text->starts_with(kMark)) return std::nullopt;
  const std::string_view literal = std::string_view(*text).substr(kMark.size());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (literal == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (literal == "Infinity") return kInfinity;
  if (literal == "-Infinity") return -kInfinity;
  if (IsIntegerLiteral(literal)) return std::strtod(std::string(literal).c_str(), nullptr);
  return std::nullopt;
}

const std::string* TextOf(const Json& json) {
  return NonFinite(json) ? nullptr : json.get_ptr<const std::string*>();
}

std::optional<uint64_t> ParseInteger(const Json& json, size_t bits, bool is_signed) {
  bool negative = false;
  uint64_t magnitude = 0;
  if (json.is_number_unsigned()) {
    magnitude = json.get<uint64_t>();
  } else if (json.is_number_integer()) {
    const auto value = json.get<int64_t>();
    negative = value < 0;
    magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  } else if (json.is_number_float()) {
    const auto value = json.get<double>();
    if (!(std::fabs(value) <= kMaxExactInteger) || value != std::trunc(value)) return std::nullopt;
    negative = value < 0;
    magnitude = static_cast<uint64_t>(std::fabs(value));
  } else {
    return std::nullopt;
  }
  const uint64_t all_ones = ~uint64_t{0} >> (64 - bits);
  const uint64_t largest = is_signed ? all_ones / 2 : all_ones;
  if (negative && (!is_signed || magnitude > largest + 1)) return std::nullopt;
  if (!negative && magnitude > largest) return std::nullopt;
  return negative ? 0 - magnitude : magnitude;
}

const Json& MemberOrNull(const Json& object, std::string_view name) {
  static const Json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::optional<std::string> UnknownMember(const Json& object,
                                         std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return std::nullopt;
  for (const auto& [member, value] : object.items()) {
    if (std::ranges::find(known, member) == known.end()) return member;
  }
  return std::nullopt;
}

std::string DumpJson(const Json& json, JsonEncoding encoding) {
  const bool ascii = encoding == JsonEncoding::kAscii;
  const int indent = IndentationOf(json) > kMaxIndentation ? -1 : 2;
  std::string text = json.dump(indent, ' ', ascii, Json::error_handler_t::replace) + "\n";
  std::string dumped;
  size_t copied = 0;
  const std::string opening = fmt::format("\"{}", kMarkInText);
  for (size_t at = text.find(opening); at != text.npos; at = text.find(opening, at + 1)) {
    // A quote after a backslash is a character of a string, and does not open one.
    if (at > 0 && text[at - 1] == '\\') continue;
    const size_t start = at + opening.size();
    const std::string_view literal(text.data() + start, text.find('"', start) - start);
    const size_t end = start + literal.size() + 1;
    if (std::find(kLiterals.begin(), kLiterals.end(), literal) == kLiterals.end() &&
        !IsIntegerLiteral(literal)) {
      continue;
    }
    if (text[end] == ':') continue;  // the string is the name of a member
    dumped.append(text, copied, at - copied).append(literal);
    copied = end;
  }
  return copied == 0 ? text : dumped.append(text, copied, text.npos);
}

std::string JsonText(std::string_view text) {
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

size_t MemoryOf(const Json& json) {
  constexpr size_t kAllocation = 16;
  const auto of_text = [](const std::string& text) {
    return text.capacity() < sizeof(std::string) ? 0 : text.capacity() + kAllocation;
  };
  if (const auto* text = json.get_ptr<const std::string*>()) {
    return kAllocation + sizeof(std::string) + of_text(*text);
  }
  if (const auto* list = json.get_ptr<const Json::array_t*>()) {
    size_t bytes = 2 * kAllocation + sizeof(Json::array_t) + list->capacity() * sizeof(Json);
    for (const Json& each : *list) bytes += MemoryOf(each);
    return bytes;
  }
  if (const auto* object = json.get_ptr<const Json::object_t*>()) {
    size_t bytes = 2 * kAllocation + sizeof(Json::object_t);
    bytes += object->capacity() * sizeof(Json::object_t::value_type);
    for (const auto& [name, value] : *object) bytes += of_text(name) + MemoryOf(value);
    return bytes;
  }
  return 0;
}

uint64_t MemoryToDump(const Json& json) {
  // While the output string grows, its old buffer and a new one of twice the size are in memory.
  constexpr uint64_t kCopies = 3;
  const size_t indentation = IndentationOf(json);
  return kCopies * (LengthOfText(json) + (indentation > kMaxIndentation ? 0 : indentation));
}

std::string Excerpt(const Json& json) {
  if (json.is_structured() && json.size() > kMaxExcerptEntries) {
    return fmt::format("{} of {} entries", json.is_array() ? "a list" : "an object", json.size());
  }
  if (NonFinite(json)) return json.get_ref<const std::string&>().substr(kMark.size());
  return AsciiExcerpt(json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace));
}

}  // namespace zarrfs
