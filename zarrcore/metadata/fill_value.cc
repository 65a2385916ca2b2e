#include "zarrcore/metadata/fill_value.h"

#include <utf8.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/number_text.h"
#include "zarrcore/metadata/base64.h"

namespace zarrfs {
namespace {

using enum DataKind;

constexpr uint64_t kNotATime = uint64_t{1} << 63;
constexpr uint32_t kReplacementCharacter = 0xfffd;
constexpr uint32_t kMaxCodePoint = 0x10ffff;

void AppendItem(FillBytes& bytes, uint64_t bits, size_t size) {
  bytes.resize(bytes.size() + size);
  StoreLittle(std::span(bytes).last(size), bits);
}

// --- Text ---

FillBytes BytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Converts UTF-8 to UTF-32: at most `length` code points, padded with zeros.
std::optional<FillBytes> EncodeUtf32(std::string_view text, size_t length) {
  if (!utf8::is_valid(text)) return std::nullopt;
  FillBytes bytes;
  bytes.reserve(4 * length);
  for (const auto* at = text.begin(); at != text.end() && bytes.size() < 4 * length;) {
    AppendItem(bytes, utf8::unchecked::next(at), 4);
  }
  bytes.resize(4 * length);
  return bytes;
}

std::string DecodeUtf32(std::span<const std::byte> bytes) {
  std::vector<uint32_t> code_points;
  for (; bytes.size() >= 4; bytes = bytes.subspan(4)) {
    code_points.push_back(LoadLittle<uint32_t>(bytes.data()));
  }
  while (!code_points.empty() && code_points.back() == 0) code_points.pop_back();
  std::string text;
  for (const uint32_t code_point : code_points) {
    const bool is_surrogate = code_point >= 0xd800 && code_point < 0xe000;
    utf8::unchecked::append(
        is_surrogate || code_point > kMaxCodePoint ? kReplacementCharacter : code_point,
        std::back_inserter(text));
  }
  return text;
}

// --- Functions that parse a part of a value. They return nullopt for invalid input. ---

std::optional<uint64_t> ParseBits(std::string_view text, const FloatFormat& format) {
  if (text.size() < 3 || text[0] != '0' || (text[1] != 'x' && text[1] != 'b')) return std::nullopt;
  const int base = text[1] == 'x' ? 16 : 2;
  const size_t full_width = format.size * (base == 16 ? 2 : 8);
  text.remove_prefix(2);
  if (text.size() > full_width) return std::nullopt;
  const auto bits = NumberFrom<uint64_t>(text, base);
  return bits && IsCode(*bits, format) ? bits : std::nullopt;
}

// Parses a JSON number, a bare literal such as NaN, or one of the strings "NaN", "Infinity",
// "+Infinity" and "-Infinity".
std::optional<double> ParseNumber(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (const auto bare = NonFinite(json)) return bare;
  if (!json.is_string()) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto& text = json.get_ref<const std::string&>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity" || text == "+Infinity") return kInfinity;
  if (text == "-Infinity") return -kInfinity;
  return std::nullopt;
}

std::optional<uint64_t> ParseFloat(const Json& json, const FloatFormat& format) {
  if (const auto number = ParseNumber(json)) return EncodeFloat(*number, format);
  const std::string* text = TextOf(json);
  return text == nullptr ? std::nullopt : ParseBits(*text, format);
}

// Parses an integer, bool or date of the given type. Bits above the size of the type are 0 in the
// result.
std::optional<uint64_t> ParseWhole(const Json& json, const DataType& type) {
  if (type.kind == kBool && json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (type.is_date() && json == "NaT") return kNotATime;
  const size_t bits = type.integer_bits();
  auto value = ParseInteger(json, bits, type.is_signed_integer());
  if (value) *value &= ~uint64_t{0} >> (64 - bits);
  return value;
}

// Parses base64, or a list of byte values.
std::optional<FillBytes> ParseBytes(const Json& json) {
  if (const std::string* text = TextOf(json)) return DecodeBase64(*text);
  if (!json.is_array()) return std::nullopt;
  FillBytes bytes;
  bytes.reserve(json.size());
  for (const Json& element : json) {
    const auto value = ParseInteger(element, 8, /*is_signed=*/false);
    if (!value) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(*value));
  }
  return bytes;
}

std::optional<FillBytes> IfSize(std::optional<FillBytes> bytes, size_t size) {
  return bytes && bytes->size() == size ? std::move(bytes) : std::nullopt;
}

std::optional<FillBytes> Item(std::optional<uint64_t> bits, size_t size) {
  if (!bits) return std::nullopt;
  FillBytes bytes;
  AppendItem(bytes, *bits, size);
  return bytes;
}

std::optional<FillBytes> ComplexItem(std::optional<uint64_t> real,
                                     std::optional<uint64_t> imaginary, size_t item_size) {
  if (!real || !imaginary) return std::nullopt;
  FillBytes bytes;
  AppendItem(bytes, *real, item_size / 2);
  AppendItem(bytes, *imaginary, item_size / 2);
  return bytes;
}

std::optional<FillBytes> ParseElement(const Json& json, const DataType& type);

std::optional<FillBytes> ParseStruct(const Json& json, const DataType& type) {
  if (json.is_string()) return IfSize(ParseBytes(json), type.item_size);
  if (!json.is_object() || json.size() != type.fields.size()) return std::nullopt;
  // Collect the values in a hash table, because Json::find searches linearly.
  std::unordered_map<std::string_view, const Json*> values;
  for (const auto& [name, value] : json.get_ref<const Json::object_t&>()) {
    values.emplace(name, &value);
  }
  FillBytes bytes;
  bytes.reserve(type.item_size);
  for (const StructField& field : type.fields) {
    const auto value = values.find(field.name);
    if (value == values.end()) return std::nullopt;
    const auto element = ParseElement(*value->second, field.type);
    if (!element) return std::nullopt;
    bytes.insert(bytes.end(), element->begin(), element->end());
  }
  return bytes;
}

std::optional<FillBytes> ParseElement(const Json& json, const DataType& type) {
  if (json.is_null()) return FillBytes(type.item_size);
  switch (type.kind) {
    case kBool:
    case kInt:
    case kUint:
    case kNarrowInt:
    case kNarrowUint:
    case kDatetime:
    case kTimedelta:
      return Item(ParseWhole(json, type), type.item_size);
    case kFloat:
    case kNarrowFloat:
      return Item(ParseFloat(json, *type.float_format()), type.item_size);
    case kComplex:
    case kNarrowComplex: {
      const FloatFormat& format = *type.float_format();
      if (json.is_number() || NonFinite(json)) {
        return ComplexItem(ParseFloat(json, format), EncodeFloat(0, format), type.item_size);
      }
      if (!json.is_array() || json.size() != 2) return std::nullopt;
      return ComplexItem(ParseFloat(json[0], format), ParseFloat(json[1], format), type.item_size);
    }
    case kRaw:
      return IfSize(ParseBytes(json), type.item_size);
    case kNullTerminatedBytes: {
      auto bytes = ParseBytes(json);
      if (bytes) bytes->resize(type.item_size);
      return bytes;
    }
    case kBytes:
      return ParseBytes(json);
    case kFixedLengthUtf32:
    case kString: {
      const std::string* text = TextOf(json);
      if (text == nullptr) return std::nullopt;
      if (type.kind == kString) return BytesOf(*text);
      return EncodeUtf32(*text, type.item_size / 4);
    }
    case kStruct:
      return ParseStruct(json, type);
    case kOther:
      break;
  }
  return FillBytes();
}

constexpr std::string_view kInteger = "an integer in range";
constexpr std::string_view kNumber =
    "a number in range, \"NaN\", \"Infinity\", \"-Infinity\" or \"0x...\"";
constexpr std::string_view kTwoNumbers =
    "a list of two numbers in range, \"NaN\", \"Infinity\", \"-Infinity\" or \"0x...\"";
constexpr std::string_view kDate = "an integer in range or \"NaT\"";
constexpr std::string_view kByteValues = "a list of byte values or a base64 string";
constexpr std::string_view kRawBytes =
    "a list of byte values or a base64 string, of the item's length";
constexpr std::string_view kFields =
    "an object with a value for each field, or a base64 string of the item's length,";

// For error messages: the value that was expected, indexed by DataKind.
constexpr std::array<std::string_view, kDataKinds> kExpected = {
    "true or false", kInteger,    kInteger, kNumber,     kTwoNumbers, kRawBytes,
    kInteger,        kInteger,    kNumber,  kTwoNumbers, kDate,       kDate,
    "text",          kByteValues, kFields,  "text",      kByteValues, "anything"};

// --- Elements as JSON ---

// Returns the double closest to the shortest decimal that parses to the float `exact`.
double ShortestDouble(float exact) {
  std::array<char, 64> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), exact);
  double value = 0;
  std::from_chars(text.data(), written.ptr, value);
  // A reader that parses the decimal as a double and rounds the double to a float may get a float
  // next to `exact`. In that case, write all digits of `exact`.
  return static_cast<float>(value) == exact ? value : static_cast<double>(exact);
}

Json FloatToV3(uint64_t bits, const FloatFormat& format) {
  const double value = DecodeFloat(bits, format);
  if (std::isnan(value)) {
    if (EncodeFloat(value, format) == bits) return "NaN";
    return fmt::format("0x{:0{}x}", bits, 2 * format.size);
  }
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  // Floats of less than 4 bytes are written exactly. A reader may widen a float16 to float32 before
  // it compares values, and the shortest decimal of the float16 is a different float32.
  return format.size == 4 ? ShortestDouble(static_cast<float>(value)) : value;
}

Json ElementToV3(std::span<const std::byte> item, const DataType& type) {
  switch (type.kind) {
    case kBool:
      return item[0] != std::byte{0};
    case kInt:
    case kUint:
    case kNarrowInt:
    case kNarrowUint:
    case kDatetime:
    case kTimedelta: {
      const size_t unused = 64 - type.integer_bits();
      const uint64_t bits = LoadLittle(item) << unused;
      if (type.is_signed_integer()) return static_cast<int64_t>(bits) >> unused;
      return bits >> unused;
    }
    case kFloat:
    case kNarrowFloat:
      return FloatToV3(LoadLittle(item), *type.float_format());
    case kComplex:
    case kNarrowComplex: {
      const size_t half = item.size() / 2;
      Json parts = Json::array();
      parts.push_back(FloatToV3(LoadLittle(item.first(half)), *type.float_format()));
      parts.push_back(FloatToV3(LoadLittle(item.last(half)), *type.float_format()));
      return parts;
    }
    case kRaw: {
      Json values = Json::array();
      for (const std::byte byte : item) values.push_back(static_cast<unsigned>(byte));
      return values;
    }
    case kNullTerminatedBytes:
      while (!item.empty() && item.back() == std::byte{0}) item = item.first(item.size() - 1);
      return EncodeBase64(item);
    case kBytes:
      return EncodeBase64(item);
    case kFixedLengthUtf32:
      return DecodeUtf32(item);
    case kString:
      return std::string(reinterpret_cast<const char*>(item.data()), item.size());
    case kStruct: {
      Json::object_t values;
      for (const StructField& field : type.fields) {
        values.emplace_back(field.name, ElementToV3(item.first(field.type.item_size), field.type));
        item = item.subspan(field.type.item_size);
      }
      return values;
    }
    case kOther:
      break;
  }
  return nullptr;
}

// --- The attribute _FillValue ---

std::optional<double> ParseFloatAttribute(const Json& json) {
  if (const auto number = ParseNumber(json)) return number;
  const std::string* text = TextOf(json);
  if (text == nullptr) return std::nullopt;
  const auto decimal = NumberFrom<double>(*text);
  if (decimal && std::isfinite(*decimal)) return decimal;
  const auto bytes = IfSize(DecodeBase64(*text), sizeof(double));
  if (!bytes) return std::nullopt;
  return std::bit_cast<double>(LoadLittle(*bytes));
}

std::optional<uint64_t> DecodeFloatAttribute(const Json& json, const FloatFormat& format) {
  const auto value = ParseFloatAttribute(json);
  return value ? EncodeFloat(*value, format) : std::nullopt;
}

}  // namespace

Result<FillBytes> ParseFillValue(const Json& document, const DataType& type, std::string_view key) {
  if (type.kind == kOther) return FillBytes();
  auto bytes = ParseElement(document, type);
  if (!bytes) {
    return Fail(ErrorCode::kDamaged, "{}: fill_value: expected {} for {}, found {}", key,
                kExpected[static_cast<size_t>(type.kind)], type.name, Excerpt(document));
  }
  return *std::move(bytes);
}

Json FillValueToV3(const FillBytes& fill, const DataType& type) {
  if (type.item_size != 0 && fill.size() != type.item_size) return nullptr;
  return ElementToV3(fill, type);
}

std::optional<FillBytes> DecodeFillAttribute(const Json& attribute, const DataType& type) {
  const Json& json = attribute.is_array() && attribute.size() == 1 ? attribute[0] : attribute;
  if (json.is_null()) return std::nullopt;
  switch (type.kind) {
    case kFloat:
    case kNarrowFloat:
      return Item(DecodeFloatAttribute(json, *type.float_format()), type.item_size);
    case kComplex:
    case kNarrowComplex: {
      if (!json.is_array() || json.size() != 2) return std::nullopt;
      const FloatFormat& format = *type.float_format();
      return ComplexItem(DecodeFloatAttribute(json[0], format),
                         DecodeFloatAttribute(json[1], format), type.item_size);
    }
    case kNullTerminatedBytes:
    case kBytes:
      return json.is_string() ? ParseElement(json, type) : std::nullopt;
    case kRaw:
    case kStruct:
    case kOther:
      return std::nullopt;
    default:
      return ParseElement(json, type);
  }
}

}  // namespace zarrfs
