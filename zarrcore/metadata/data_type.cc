#include "zarrcore/metadata/data_type.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace zarrfs {
namespace {

struct CoreType {
  std::string_view spelling;
  std::string_view name;
  DataKind kind;
  size_t item_size;
};

constexpr std::array kCoreTypes = {
    CoreType{"bool", "bool", DataKind::kBool, 1},
    CoreType{"int8", "int8", DataKind::kInt, 1},
    CoreType{"int16", "int16", DataKind::kInt, 2},
    CoreType{"int32", "int32", DataKind::kInt, 4},
    CoreType{"int64", "int64", DataKind::kInt, 8},
    CoreType{"uint8", "uint8", DataKind::kUint, 1},
    CoreType{"uint16", "uint16", DataKind::kUint, 2},
    CoreType{"uint32", "uint32", DataKind::kUint, 4},
    CoreType{"uint64", "uint64", DataKind::kUint, 8},
    CoreType{"float16", "float16", DataKind::kFloat, 2},
    CoreType{"float32", "float32", DataKind::kFloat, 4},
    CoreType{"float64", "float64", DataKind::kFloat, 8},
    CoreType{"complex64", "complex64", DataKind::kComplex, 8},
    CoreType{"complex128", "complex128", DataKind::kComplex, 16},
    CoreType{"complex_float32", "complex64", DataKind::kComplex, 8},
    CoreType{"complex_float64", "complex128", DataKind::kComplex, 16},
};

constexpr size_t kMaxRawBytes = 65536;
// Above it a double may be the neighbour of the integer that was written.
constexpr double kMaxExactInteger = 9007199254740992.0;  // 2^53

// --- Floats of 2, 4 and 8 bytes as bits.
// -----------------------------------------------------------

// The nearest float of `size` bytes, ties to even; nothing if a finite value is beyond its range.
std::optional<uint64_t> FloatBits(double value, size_t size) {
  if (size == 8) return std::bit_cast<uint64_t>(value);
  if (size == 4) {
    // Halfway between the largest float and 2^128: from here on rounding gives infinity.
    if (std::isfinite(value) && std::fabs(value) >= 0x1.ffffffp127) return std::nullopt;
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  const uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (magnitude >= 65520) return std::nullopt;
  // binary16 has 10 bits after the leading one and exponents from -14; below lie the subnormals,
  // whose unit is that of exponent -14. A count that rounds up to 2048 carries into the exponent.
  const int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  const auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return sign | ((static_cast<uint64_t>(exponent + 14) << 10) + units);
}

double FloatValue(uint64_t bits, size_t size) {
  if (size == 8) return std::bit_cast<double>(bits);
  if (size == 4) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 10) & 0x1f);
  const int fraction = static_cast<int>(bits & 0x3ff);
  if (exponent == 0x1f) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

uint64_t CanonicalNan(size_t size) {
  if (size == 2) return 0x7e00;
  return size == 4 ? 0x7fc00000 : 0x7ff8000000000000;
}

uint64_t LoadItem(std::span<const std::byte> item) {
  uint64_t bits = 0;
  for (size_t i = item.size(); i-- > 0;) bits = bits << 8 | static_cast<uint64_t>(item[i]);
  return bits;
}

void AppendItem(FillBytes& bytes, uint64_t bits, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
}

// The decimal number with the fewest digits that reads back to `bits`, as the double that JSON
// makes of it.
double ShortestDouble(uint64_t bits, size_t size) {
  const double exact = FloatValue(bits, size);
  std::array<char, 64> text;
  const auto reads_back = [&](const std::to_chars_result& written) {
    double value = 0;
    std::from_chars(text.data(), written.ptr, value);
    return FloatBits(value, size) == bits ? std::optional(value) : std::nullopt;
  };
  if (size == 4) {
    const auto written =
        std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(exact));
    if (const auto value = reads_back(written)) return *value;
  }
  if (size == 2) {
    for (int digits = 0; digits < 5; ++digits) {  // after the first one
      const auto written = std::to_chars(text.data(), text.data() + text.size(), exact,
                                         std::chars_format::scientific, digits);
      if (const auto value = reads_back(written)) return *value;
    }
  }
  return exact;
}

// --- Parts of fill values. All give nothing for what they do not accept.
// ---------------------------

std::optional<uint64_t> ParseBits(std::string_view text, size_t size) {
  if (text.size() < 3 || text[0] != '0' || (text[1] != 'x' && text[1] != 'b')) return std::nullopt;
  const int base = text[1] == 'x' ? 16 : 2;
  const size_t full_width = size * (base == 16 ? 2 : 8);
  text.remove_prefix(2);
  if (text.size() > full_width) return std::nullopt;
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return bits;
}

std::optional<uint64_t> ParseFloat(const Json& json, size_t size) {
  if (json.is_number()) return FloatBits(json.get<double>(), size);
  if (!json.is_string()) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto& text = json.get_ref<const std::string&>();
  const std::optional<double> bare = NonFinite(json);
  if (text == "NaN" || (bare && std::isnan(*bare))) return CanonicalNan(size);
  if (bare) return FloatBits(*bare, size);
  if (text == "Infinity" || text == "+Infinity") return FloatBits(kInfinity, size);
  if (text == "-Infinity") return FloatBits(-kInfinity, size);
  return ParseBits(text, size);
}

std::optional<uint64_t> ParseInteger(const Json& json, size_t size, bool is_signed) {
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
  const uint64_t all_ones = ~uint64_t{0} >> (64 - 8 * size);
  const uint64_t largest = is_signed ? all_ones / 2 : all_ones;
  if (negative && (!is_signed || magnitude > largest + 1)) return std::nullopt;
  if (!negative && magnitude > largest) return std::nullopt;
  return negative ? 0 - magnitude : magnitude;
}

// Standard alphabet, padded.
std::optional<FillBytes> DecodeBase64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  FillBytes bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    const bool is_last = i + 4 == text.size();
    const size_t padding = !is_last || text[i + 3] != '=' ? 0 : (text[i + 2] != '=' ? 1 : 2);
    uint32_t quantum = 0;
    for (size_t j = 0; j < 4; ++j) {
      const bool is_padding = j >= 4 - padding;
      const size_t digit = is_padding ? 0 : kAlphabet.find(text[i + j]);
      if (digit == kAlphabet.npos) return std::nullopt;
      quantum = quantum << 6 | static_cast<uint32_t>(digit);
    }
    for (size_t j = 0; j < 3 - padding; ++j) {
      bytes.push_back(static_cast<std::byte>(quantum >> (16 - 8 * j)));
    }
  }
  return bytes;
}

std::optional<FillBytes> ParseRaw(const Json& json, size_t size) {
  if (json.is_string()) {
    // Refused by its length first: the text may be as long as the whole document.
    const auto& text = json.get_ref<const std::string&>();
    if (text.size() != (size + 2) / 3 * 4) return std::nullopt;
    auto bytes = DecodeBase64(text);
    return bytes && bytes->size() == size ? bytes : std::nullopt;
  }
  if (!json.is_array() || json.size() != size) return std::nullopt;
  FillBytes bytes;
  bytes.reserve(size);
  for (const Json& element : json) {
    const auto value = ParseInteger(element, 1, /*is_signed=*/false);
    if (!value) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(*value));
  }
  return bytes;
}

std::optional<FillBytes> ParseElement(const Json& json, const DataType& type) {
  if (json.is_null()) return FillBytes(type.item_size);
  FillBytes bytes;
  const auto append = [&bytes](std::optional<uint64_t> bits, size_t size) {
    if (bits) AppendItem(bytes, *bits, size);
    return bits.has_value();
  };
  switch (type.kind) {
    case DataKind::kBool: {
      const auto value =
          json.is_boolean() ? uint64_t{json.get<bool>()} : ParseInteger(json, 1, false);
      if (!value || *value > 1) return std::nullopt;
      AppendItem(bytes, *value, 1);
      return bytes;
    }
    case DataKind::kInt:
    case DataKind::kUint: {
      const auto value = ParseInteger(json, type.item_size, type.kind == DataKind::kInt);
      if (!append(value, type.item_size)) return std::nullopt;
      return bytes;
    }
    case DataKind::kFloat:
      if (!append(ParseFloat(json, type.item_size), type.item_size)) return std::nullopt;
      return bytes;
    case DataKind::kComplex: {
      const size_t half = type.item_size / 2;
      if (json.is_number() || NonFinite(json)) {
        if (!append(ParseFloat(json, half), half)) return std::nullopt;
        AppendItem(bytes, 0, half);
        return bytes;
      }
      if (!json.is_array() || json.size() != 2) return std::nullopt;
      for (const Json& part : json) {
        if (!append(ParseFloat(part, half), half)) return std::nullopt;
      }
      return bytes;
    }
    case DataKind::kRaw:
      return ParseRaw(json, type.item_size);
    case DataKind::kOther:
      break;
  }
  return bytes;
}

std::string_view ExpectedFill(DataKind kind) {
  switch (kind) {
    case DataKind::kBool:
      return "true or false";
    case DataKind::kInt:
    case DataKind::kUint:
      return "an integer in range";
    case DataKind::kFloat:
      return "a number in range, \"NaN\", \"Infinity\", \"-Infinity\" or \"0x...\"";
    case DataKind::kComplex:
      return "a list of two numbers in range, \"NaN\", \"Infinity\", \"-Infinity\" or \"0x...\"";
    case DataKind::kRaw:
      return "a list of byte values or base64 text, of the item's length";
    case DataKind::kOther:
      break;
  }
  return "anything";
}

Json FloatToV3(uint64_t bits, size_t size) {
  const double value = FloatValue(bits, size);
  if (std::isnan(value)) {
    if (bits == CanonicalNan(size)) return "NaN";
    return fmt::format("0x{:0{}x}", bits, 2 * size);
  }
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  // Readers may widen a float16 before they compare: its shortest decimal is another float32.
  if (size == 2) return value;
  return ShortestDouble(bits, size);
}

DataType RawType(uint64_t bytes, const Json& document) {
  return DataType{fmt::format("r{}", 8 * bytes), DataKind::kRaw, bytes, document};
}

}  // namespace

Result<DataType> ParseDataType(const Json& document, std::string_view key) {
  const Json* name_member = &document;
  const Json* configuration = nullptr;
  if (document.is_object()) {
    const auto found = document.find("name");
    name_member = found == document.end() ? nullptr : &*found;
    const auto configured = document.find("configuration");
    if (configured != document.end() && !configured->is_null()) configuration = &*configured;
  }
  if (name_member == nullptr || !name_member->is_string() || NonFinite(*name_member) ||
      name_member->get_ref<const std::string&>().empty() ||
      (configuration != nullptr && !configuration->is_object())) {
    return Fail(ErrorCode::kDamaged,
                "{}: data_type: expected a name or an object with name and configuration, found {}",
                key, Excerpt(document));
  }
  const auto& name = name_member->get_ref<const std::string&>();

  const std::string_view digits = std::string_view(name).substr(1);
  const bool is_bits =
      name[0] == 'r' && !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  const auto* core = std::find_if(kCoreTypes.begin(), kCoreTypes.end(),
                                  [&](const CoreType& type) { return type.spelling == name; });
  const bool is_raw_bytes = name == "raw_bytes";
  if (!is_bits && !is_raw_bytes && core == kCoreTypes.end()) {
    return DataType{name, DataKind::kOther, 0, document};
  }

  // What a core type does not have is not skipped: it would have meant something.
  if (document.is_object()) {
    for (const auto& [member, value] : document.items()) {
      if (member != "name" && member != "configuration" && member != "must_understand") {
        return Fail(ErrorCode::kUnsupported, "{}: data_type: {} with an unknown member {}", key,
                    name, Excerpt(member));
      }
    }
  }
  if (configuration != nullptr) {
    for (const auto& [member, value] : configuration->items()) {
      if (!is_raw_bytes || member != "length_bytes") {
        return Fail(ErrorCode::kUnsupported, "{}: data_type: {} with unknown configuration {}", key,
                    name, Excerpt(member));
      }
    }
  }

  if (is_bits) {
    uint64_t bits = 0;
    const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), bits).ec;
    if (error == std::errc() && (bits == 0 || bits % 8 != 0 || digits[0] == '0')) {
      return Fail(ErrorCode::kDamaged,
                  "{}: data_type: expected r<N> with N a multiple of 8, found {}", key,
                  Excerpt(name));
    }
    if (error != std::errc() || bits > 8 * kMaxRawBytes) {
      return Fail(ErrorCode::kUnsupported, "{}: data_type: expected r<N> with N up to {}, found {}",
                  key, 8 * kMaxRawBytes, Excerpt(name));
    }
    return RawType(bits / 8, document);
  }
  if (is_raw_bytes) {
    const Json length =
        configuration == nullptr ? Json() : configuration->value("length_bytes", Json());
    const auto bytes = ParseInteger(length, 8, /*is_signed=*/false);
    if (!bytes || *bytes == 0) {
      return Fail(ErrorCode::kDamaged,
                  "{}: data_type: expected raw_bytes with length_bytes >= 1, found {}", key,
                  Excerpt(document));
    }
    if (*bytes > kMaxRawBytes) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: data_type: expected raw_bytes with length_bytes up to {}, found {}", key,
                  kMaxRawBytes, *bytes);
    }
    return RawType(*bytes, document);
  }
  return DataType{std::string(core->name), core->kind, core->item_size, document};
}

Result<FillBytes> ParseFillValue(const Json& document, const DataType& type, std::string_view key) {
  if (!type.is_core()) return FillBytes();
  auto bytes = ParseElement(document, type);
  if (!bytes) {
    return Fail(ErrorCode::kDamaged, "{}: fill_value: expected {} for {}, found {}", key,
                ExpectedFill(type.kind), type.name, Excerpt(document));
  }
  return *std::move(bytes);
}

Json FillValueToV3(const FillBytes& fill, const DataType& type) {
  if (!type.is_core() || fill.size() != type.item_size) return nullptr;
  const std::span<const std::byte> bytes(fill);
  switch (type.kind) {
    case DataKind::kBool:
      return fill[0] != std::byte{0};
    case DataKind::kInt: {
      const size_t unused = 64 - 8 * type.item_size;
      return static_cast<int64_t>(LoadItem(bytes) << unused) >> unused;
    }
    case DataKind::kUint:
      return LoadItem(bytes);
    case DataKind::kFloat:
      return FloatToV3(LoadItem(bytes), type.item_size);
    case DataKind::kComplex: {
      const size_t half = type.item_size / 2;
      Json parts = Json::array();
      parts.push_back(FloatToV3(LoadItem(bytes.first(half)), half));
      parts.push_back(FloatToV3(LoadItem(bytes.last(half)), half));
      return parts;
    }
    case DataKind::kRaw: {
      Json values = Json::array();
      for (const std::byte byte : fill) values.push_back(static_cast<unsigned>(byte));
      return values;
    }
    case DataKind::kOther:
      break;
  }
  return nullptr;
}

}  // namespace zarrfs
