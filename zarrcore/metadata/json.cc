#include "zarrcore/metadata/json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

// A bare literal stands in a document as a string that begins with this mark. Texts that hold such
// a string of their own are refused, so a marked string in a document is always a bare literal.
constexpr std::string_view kMark = "\0#"sv;
constexpr std::string_view kMarkInText = "\\u0000#";
constexpr std::array kLiterals = {"NaN"sv, "Infinity"sv, "-Infinity"sv};
// The opening quote, the mark and the closing quote: how much longer a marked literal is.
constexpr size_t kMarkedGrowth = kMarkInText.size() + 2;

constexpr size_t kExcerptLength = 100;

// Keeps a message on one short line, whatever bytes a hostile document holds.
std::string Printable(std::string_view text) {
  std::string line(text.substr(0, kExcerptLength));
  for (char& c : line) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > kExcerptLength) line += "...";
  return line;
}

struct MarkedText {
  std::string text;
  std::vector<size_t> ends;  // of each marked literal, as offsets in `text`
};

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
      // Next to anything but white space and punctuation the quotes make it a syntax error, as it
      // should be: 1NaN, NaNs, "a"NaN.
      marked.text.append("\"").append(kMarkInText).append(*literal).append("\"");
      marked.ends.push_back(marked.text.size());
      i += literal->size();
      continue;
    }
    in_string = text[i] == '"';
    marked.text.push_back(text[i]);
    ++i;
  }
  return marked;
}

// Builds the document. nlohmann's own builder searches every object from its beginning for every
// key and copies all members whenever an object grows, which a hostile document turns into hours.
class DocumentBuilder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Place(nullptr); }
  bool boolean(bool value) override { return Place(value); }
  bool number_integer(number_integer_t value) override { return Place(value); }
  bool number_unsigned(number_unsigned_t value) override { return Place(value); }
  bool number_float(number_float_t value, const string_t&) override { return Place(value); }
  bool binary(binary_t&) override { return Refuse("binary value"); }

  bool string(string_t& value) override {
    if (value.starts_with(kMark)) ++marked_values_;
    return Place(std::move(value));
  }
  bool key(string_t& name) override {
    if (name.starts_with(kMark)) return Refuse("a name that is NaN, Infinity or a mark of them");
    open_.back().keys.push_back(std::move(name));
    return true;
  }

  bool start_object(size_t) override { return Open(true); }
  bool start_array(size_t) override { return Open(false); }
  bool end_object() override {
    OpenContainer members = Close();
    Json object = Json::object();
    auto& ordered = object.get_ref<Json::object_t&>();
    ordered.reserve(members.keys.size());
    std::unordered_map<std::string, size_t> places;
    for (size_t i = 0; i < members.keys.size(); ++i) {
      const auto [place, is_new] = places.try_emplace(members.keys[i], ordered.size());
      if (is_new) {
        ordered.emplace_back(std::move(members.keys[i]), std::move(members.values[i]));
      } else {
        std::next(ordered.begin(), static_cast<std::ptrdiff_t>(place->second))->second =
            std::move(members.values[i]);
      }
    }
    return Place(std::move(object));
  }
  bool end_array() override { return Place(Json::array_t(std::move(Close().values))); }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    position_ = position;
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
    std::string_view message = exception.what();
    if (const size_t end = message.find("] "); end != message.npos) message.remove_prefix(end + 2);
    if (message.starts_with("parse error")) {
      if (const size_t end = message.find(": "); end != message.npos) {
        message.remove_prefix(end + 2);
      }
    }
    error_ = Printable(message);
    return false;
  }

  Json root;
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] size_t position() const { return position_; }  // 0: unknown
  [[nodiscard]] bool too_deep() const { return too_deep_; }
  [[nodiscard]] size_t marked_values() const { return marked_values_; }

 private:
  struct OpenContainer {
    bool is_object;
    std::vector<std::string> keys;  // of objects: one a value, repeated ones too
    std::vector<Json> values;
  };

  bool Place(Json value) {
    (open_.empty() ? root : open_.back().values.emplace_back()) = std::move(value);
    return true;
  }
  bool Open(bool is_object) {
    if (open_.size() >= static_cast<size_t>(kMaxJsonDepth)) {
      too_deep_ = true;
      return false;
    }
    open_.push_back(OpenContainer{is_object, {}, {}});
    return true;
  }
  OpenContainer Close() {
    OpenContainer closed = std::move(open_.back());
    open_.pop_back();
    return closed;
  }
  bool Refuse(std::string message) {
    error_ = std::move(message);
    return false;
  }

  std::vector<OpenContainer> open_;
  std::string error_;
  size_t position_ = 0;
  bool too_deep_ = false;
  size_t marked_values_ = 0;
};

std::string LineAndColumn(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1,
                     before.size() - line_start + 1);
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view key) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  // The parser takes a NUL byte for the end and would not see what follows it.
  if (const size_t nul = text.find('\0'); nul != text.npos) {
    return Fail(ErrorCode::kDamaged, "{}: not JSON: NUL byte at {}", key, LineAndColumn(text, nul));
  }
  MarkedText marked;
  if (HoldsBareLiteral(text)) marked = MarkBareLiterals(text);
  const std::string_view parsed = marked.ends.empty() ? text : std::string_view(marked.text);

  DocumentBuilder builder;
  if (!Json::sax_parse(parsed.begin(), parsed.end(), &builder)) {
    if (builder.too_deep()) {
      return Fail(ErrorCode::kTooLarge, "{}: JSON nested deeper than {} levels", key,
                  kMaxJsonDepth);
    }
    if (builder.position() == 0) {
      return Fail(ErrorCode::kDamaged, "{}: not JSON: {}", key, builder.error());
    }
    size_t offset = builder.position() - 1;  // of the last byte read
    const auto marks_before =
        std::upper_bound(marked.ends.begin(), marked.ends.end(), offset) - marked.ends.begin();
    offset -= static_cast<size_t>(marks_before) * kMarkedGrowth;
    return Fail(ErrorCode::kDamaged, "{}: not JSON at {}: {}", key, LineAndColumn(text, offset),
                builder.error());
  }
  if (builder.marked_values() != marked.ends.size()) {
    return Fail(ErrorCode::kDamaged, "{}: a string begins with \\u0000#, the mark of bare NaN",
                key);
  }
  return std::move(builder.root);
}

std::optional<double> NonFinite(const Json& json) {
  const auto* text = json.get_ptr<const std::string*>();
  if (text == nullptr || !text->starts_with(kMark)) return std::nullopt;
  const std::string_view literal = std::string_view(*text).substr(kMark.size());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (literal == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (literal == "Infinity") return kInfinity;
  if (literal == "-Infinity") return -kInfinity;
  return std::nullopt;
}

const Json& MemberOrNull(const Json& object, const char* name) {
  static const Json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string DumpJson(const Json& json, JsonEncoding encoding) {
  const bool ascii = encoding == JsonEncoding::kAscii;
  const std::string text = json.dump(2, ' ', ascii, Json::error_handler_t::replace) + "\n";
  std::string dumped;
  size_t copied = 0;
  const std::string opening = fmt::format("\"{}", kMarkInText);
  for (size_t at = text.find(opening); at != text.npos; at = text.find(opening, at + 1)) {
    // After a backslash the quote does not open a string but stands in one.
    if (at > 0 && text[at - 1] == '\\') continue;
    const size_t start = at + opening.size();
    const std::string_view literal(text.data() + start, text.find('"', start) - start);
    const size_t end = start + literal.size() + 1;
    if (std::find(kLiterals.begin(), kLiterals.end(), literal) == kLiterals.end()) continue;
    if (text[end] == ':') continue;  // a name
    dumped.append(text, copied, at - copied).append(literal);
    copied = end;
  }
  return dumped.append(text, copied, text.npos);
}

std::string JsonText(std::string_view text) {
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::string Excerpt(const Json& json) {
  if (json.is_structured() && json.size() > kExcerptLength) {
    return fmt::format("{} of {} entries", json.is_array() ? "a list" : "an object", json.size());
  }
  if (NonFinite(json)) return json.get_ref<const std::string&>().substr(kMark.size());
  return Printable(json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace));
}

}  // namespace zarrfs
