// KerchunkReferenceSet::Read(): parses the JSON file as a sequence of events, so neither the whole
// file nor a tree of its values is ever in memory.
#include <nettle/base64.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "zarrcore/base/printable.h"
#include "zarrcore/kerchunk/reference_set.h"

namespace zarrfs {
namespace {

using Json = nlohmann::json;

constexpr size_t kPiece = 1u << 20;  // bytes of the file that are read at a time
constexpr std::string_view kBase64 = "base64:";
constexpr int kMaxDepth = 64;  // the maximum depth of an inline JSON object

// Maximum memory, in bytes, that each byte of a piece of the file can need while the piece is
// parsed. A reference of 16 bytes of JSON needs a record, a position, a location and the location's
// number in a tree, and the vectors that hold these values grow.
constexpr uint64_t kMemoryOfByte = 16;

// The bytes of an object, as characters for the JSON parser. `before_read` is called before each
// piece is read. If `before_read` or a read fails, the sequence ends.
class Bytes {
 public:
  Bytes(const Object& object, std::function<Result<void>()> before_read)
      : object_(object), before_read_(std::move(before_read)), left_(object.info().size()) {}

  [[nodiscard]] bool is_at_end() {
    if (at_ == piece_.size()) ReadOn();
    return at_ == piece_.size();
  }
  [[nodiscard]] char Front() { return is_at_end() ? '\0' : piece_[at_]; }
  void Pop() { ++at_; }
  [[nodiscard]] const Result<void>& read() const { return read_; }

 private:
  void ReadOn() {
    if (!read_ || left_ == 0) return;
    const uint64_t offset = object_.info().size() - left_;
    at_ = 0;
    piece_.clear();
    read_ = before_read_();
    if (!read_) return;
    piece_.resize(static_cast<size_t>(std::min<uint64_t>(kPiece, left_)));
    read_ = object_.Read(offset, std::as_writable_bytes(std::span(piece_)));
    if (!read_) piece_.clear();
    left_ -= piece_.size();
  }

  const Object& object_;
  const std::function<Result<void>()> before_read_;
  uint64_t left_;
  std::string piece_;
  size_t at_ = 0;
  Result<void> read_;
};

class BytesIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  BytesIterator() = default;
  explicit BytesIterator(Bytes& bytes) : bytes_(&bytes) {}
  char operator*() const { return bytes_->Front(); }
  BytesIterator& operator++() {
    bytes_->Pop();
    return *this;
  }
  BytesIterator operator++(int) { return ++*this; }
  bool operator==(const BytesIterator& other) const { return IsAtEnd() == other.IsAtEnd(); }
  bool operator!=(const BytesIterator& other) const { return !(*this == other); }

 private:
  [[nodiscard]] bool IsAtEnd() const { return bytes_ == nullptr || bytes_->is_at_end(); }

  Bytes* bytes_ = nullptr;
};

Result<std::string> FromBase64(std::string_view text) {
  base64_decode_ctx context;
  base64_decode_init(&context);
  std::string bytes(BASE64_DECODE_LENGTH(text.size()), '\0');
  size_t length = bytes.size();
  const bool is_valid =
      base64_decode_update(&context, &length, reinterpret_cast<uint8_t*>(bytes.data()), text.size(),
                           text.data()) != 0 &&
      base64_decode_final(&context) != 0;
  if (!is_valid) return Fail(ErrorCode::kDamaged, "not base64");
  bytes.resize(length);
  return bytes;
}

// Writes the events of one JSON value as compact JSON.
class JsonText {
 public:
  void Begin(char bracket) {
    Separate();
    text_ += bracket;
    is_first_ = true;
    ++depth_;
  }
  void End(char bracket) {
    text_ += bracket;
    is_first_ = false;
    --depth_;
  }
  void Key(const std::string& key) {
    Separate();
    text_ += Json(key).dump();
    text_ += ':';
    is_first_ = true;  // no comma before the value
  }
  void Value(std::string_view text) {
    Separate();
    text_ += text;
  }

  [[nodiscard]] int depth() const { return depth_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void Separate() {
    if (!is_first_) text_ += ',';
    is_first_ = false;
  }

  std::string text_;
  int depth_ = 0;
  bool is_first_ = true;
};

// Handles the events of the parser. The file is one object:
//
//   version 0   {KEY: REFERENCE, …}
//   version 1   {"version": 1, "templates": {NAME: VALUE, …}, "gen": […],
//                "refs": {KEY: REFERENCE, …}}
//
//   REFERENCE   "text", "base64:…", [ADDRESS], [ADDRESS, OFFSET, LENGTH], or a JSON object, whose
//               text is the bytes of the object
class Events final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Other("null"); }
  bool boolean(bool value) override { return Other(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Other(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (in_ == In::kArray) {
      if (items_ == 0 || items_ > 2) return Refuse("expected [ADDRESS, OFFSET, LENGTH]");
      (items_ == 1 ? offset_ : length_) = value;
      ++items_;
      return true;
    }
    if (in_ == In::kTop && key_ == "version") {
      version_ = value;
      return true;
    }
    return Other(std::to_string(value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return Other(text); }

  bool string(string_t& value) override {
    pieces_of_string_ = 0;
    switch (in_) {
      case In::kTop:
      case In::kReferences:
        return AddText(value);
      case In::kTemplates:
        builder_.AddTemplate(key_, value);
        return true;
      case In::kArray:
        if (items_ != 0) return Refuse("expected [ADDRESS, OFFSET, LENGTH]");
        location_ = value;
        ++items_;
        return true;
      case In::kDocument:
        document_.Value(Dump(value));
        return true;
      case In::kFile:
      case In::kGen:
        break;
    }
    return Other("a string");
  }
  bool binary(binary_t& /*value*/) override { return false; }  // not in JSON

  bool start_object(size_t /*elements*/) override {
    switch (in_) {
      case In::kFile:
        return Enter(In::kTop);
      case In::kTop:
        if (key_ == "refs") return has_references_ = true, Enter(In::kReferences);
        if (key_ == "templates") return Enter(In::kTemplates);
        [[fallthrough]];
      case In::kReferences:
        above_ = in_;
        in_ = In::kDocument;
        document_ = {};
        document_.Begin('{');
        return true;
      case In::kDocument:
        return BeginInside('{');
      case In::kTemplates:
      case In::kArray:
        return Refuse("expected a string or number, found an object");
      case In::kGen:
        break;
    }
    return Generates();
  }
  bool key(string_t& value) override {
    pieces_of_string_ = 0;
    if (in_ == In::kDocument) {
      document_.Key(value);
    } else {
      key_ = value;
    }
    return true;
  }
  bool end_object() override {
    switch (in_) {
      case In::kDocument:
        document_.End('}');
        return document_.depth() > 0 || EndDocument();
      case In::kReferences:
      case In::kTemplates:
        return Enter(In::kTop);
      default:
        return true;
    }
  }

  bool start_array(size_t /*elements*/) override {
    switch (in_) {
      case In::kTop:
        if (key_ == "gen") return Enter(In::kGen);
        [[fallthrough]];
      case In::kReferences:
        above_ = in_;
        in_ = In::kArray;
        items_ = 0;
        return true;
      case In::kDocument:
        return BeginInside('[');
      case In::kGen:
        return Generates();
      default:
        return Refuse("unexpected array");
    }
  }
  bool end_array() override {
    if (in_ == In::kDocument) {
      document_.End(']');
      return true;
    }
    if (in_ == In::kGen) return Enter(In::kTop);
    in_ = above_;
    if (items_ == 1) return Ok(builder_.AddWhole(key_, location_));
    if (items_ == 3) return Ok(builder_.AddRange(key_, location_, offset_, length_));
    return Refuse("expected [ADDRESS] or [ADDRESS, OFFSET, LENGTH]");
  }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    result_ =
        Fail(ErrorCode::kDamaged, "not JSON at byte {}: {}", position, AsciiExcerpt(error.what()));
    return false;
  }

  [[nodiscard]] Result<std::shared_ptr<KerchunkReferenceSet>> Finish(
      MemoryBudget::Share memory) && {
    if (!result_) return Fail(result_);
    if (version_ > 1) {
      return Fail(ErrorCode::kUnsupported, "the reference set has version {}; expected 0 or 1",
                  version_);
    }
    if (version_ == 1 && !has_references_) return Fail(ErrorCode::kDamaged, "it has no \"refs\"");
    auto set = std::move(builder_).Finish(std::move(memory));
    if (set || set.error().code != ErrorCode::kUnsupported) return set;
    return Fail(set.error().code, "{}; expand it first: {}", set.error().message,
                kExpandReferenceSet);
  }
  // The memory, in bytes, of the references parsed so far and of the string that is being parsed.
  // Each call counts one more piece of that string, so call it once before each piece is read.
  [[nodiscard]] uint64_t bytes() {
    constexpr uint64_t kAtOnce =
        4;  // peak of a string that grows and is decoded, as a multiple of its length
    return builder_.bytes() + kAtOnce * (document_.text().size() + location_.size() + key_.size() +
                                         pieces_of_string_++ * kPiece);
  }

 private:
  // The part of the JSON file that is being parsed.
  enum class In : uint8_t { kFile, kTop, kReferences, kTemplates, kGen, kArray, kDocument };

  bool Enter(In in) {
    in_ = in;
    return true;
  }
  bool Ok(Result<void> added) {
    result_ = std::move(added);
    return result_.has_value();
  }
  bool Refuse(std::string_view why) {
    return Ok(Fail(ErrorCode::kDamaged, "{}: {}", AsciiExcerpt(key_), why));
  }
  bool Generates() {
    return Ok(Fail(ErrorCode::kUnsupported,
                   "the set generates references (\"gen\"); expand it first: {}",
                   kExpandReferenceSet));
  }
  bool AddText(std::string_view text) {
    if (!text.starts_with(kBase64)) return Ok(builder_.AddInline(key_, text));
    const auto bytes = FromBase64(text.substr(kBase64.size()));
    return bytes ? Ok(builder_.AddInline(key_, *bytes)) : Refuse(bytes.error().message);
  }
  // Handles a value that cannot be a reference, but may be part of a JSON object.
  bool Other(const std::string& text) {
    if (in_ == In::kDocument) {
      document_.Value(text);
      return true;
    }
    if (in_ == In::kGen) return Generates();
    if (in_ == In::kFile) {
      return Ok(Fail(ErrorCode::kDamaged, "expected a JSON object, found {}", AsciiExcerpt(text)));
    }
    return Refuse(fmt::format("expected a reference, found {}", AsciiExcerpt(text)));
  }
  bool BeginInside(char bracket) {
    if (document_.depth() == kMaxDepth) return Refuse("nested too deeply");
    document_.Begin(bracket);
    return true;
  }
  bool EndDocument() {
    in_ = above_;
    return Ok(builder_.AddInline(key_, document_.text()));
  }
  static std::string Dump(const std::string& text) { return Json(text).dump(); }

  KerchunkReferenceSet::Builder builder_;
  uint64_t pieces_of_string_ = 0;  // the pieces of the file read since the last string ended
  Result<void> result_;
  In in_ = In::kFile;
  In above_ = In::kTop;  // the part that contains the current array or document
  std::string key_;
  uint64_t version_ = 0;
  bool has_references_ = false;
  // The array that is being parsed, [ADDRESS, OFFSET, LENGTH]: the number of items so far, and
  // their values.
  int items_ = 0;
  std::string location_;
  uint64_t offset_ = 0;
  uint64_t length_ = 0;
  JsonText document_;
};

}  // namespace

Result<std::shared_ptr<const KerchunkReferenceSet>> KerchunkReferenceSet::Read(
    const Store& container, std::string_view key) {
  auto answer = container.Read(key, ByteRange::At(0, 0), {});
  if (!answer) return Fail(answer);
  const Object& file = *answer->object;
  MemoryBudget::Share memory;
  Events events;
  const auto take = [&]() -> Result<void> {
    const uint64_t needed = events.bytes() + kMemoryOfByte * kPiece;
    if (needed <= memory.bytes()) return {};
    const uint64_t limit = ProcessMemory().limit();
    if (needed > limit) {
      return Fail(
          ErrorCode::kTooLarge,
          "a reference set of {} bytes needs {} bytes of memory and more; memory= allows {}",
          file.info().size(), needed, limit);
    }
    auto more = ProcessMemory().Take(needed - memory.bytes(), memory.bytes());
    if (!more) return Fail(more);
    memory.Add(*std::move(more));
    return {};
  };
  Bytes bytes(file, take);
  (void)Json::sax_parse(BytesIterator(bytes), BytesIterator(), &events);
  if (!bytes.read()) return Fail(bytes.read());
  if (auto taken = take(); !taken) return Fail(taken);
  auto set = std::move(events).Finish(std::move(memory));
  if (!set && set.error().code == ErrorCode::kDamaged) {
    return Fail(ErrorCode::kDamaged, "not a kerchunk reference set: {}", set.error().message);
  }
  if (!set) return Fail(set);
  (*set)->object = std::move(answer->object);
  return *std::move(set);
}

}  // namespace zarrfs
