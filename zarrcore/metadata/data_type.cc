#include "zarrcore/metadata/data_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <unordered_set>
#include <utility>

#include "zarrcore/base/byte_order.h"

namespace zarrfs {
namespace {

using enum DataKind;

// A type without a configuration.
struct NamedType {
  std::string_view name;
  DataKind kind;
  size_t item_size;
};

constexpr std::array kNamedTypes = {
    NamedType{"bool", kBool, 1},         NamedType{"int8", kInt, 1},
    NamedType{"int16", kInt, 2},         NamedType{"int32", kInt, 4},
    NamedType{"int64", kInt, 8},         NamedType{"uint8", kUint, 1},
    NamedType{"uint16", kUint, 2},       NamedType{"uint32", kUint, 4},
    NamedType{"uint64", kUint, 8},       NamedType{"float16", kFloat, 2},
    NamedType{"float32", kFloat, 4},     NamedType{"float64", kFloat, 8},
    NamedType{"complex64", kComplex, 8}, NamedType{"complex128", kComplex, 16},
    NamedType{"int2", kNarrowInt, 1},    NamedType{"int4", kNarrowInt, 1},
    NamedType{"uint2", kNarrowUint, 1},  NamedType{"uint4", kNarrowUint, 1},
    NamedType{"string", kString, 0},
};
constexpr std::array<std::string_view, 3> kBytesTypes = {"bytes", "variable_length_bytes",
                                                         "binary"};
constexpr std::string_view kComplexPrefix = "complex_";

constexpr std::array<std::string_view, 14> kTimeUnits = {
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"};
constexpr uint64_t kMaxTimeScale = 2147483647;

DataType MakeType(std::string_view name, DataKind kind, size_t item_size) {
  DataType type;
  type.name = name;
  type.kind = kind;
  type.item_size = item_size;
  return type;
}

DataType OtherType(std::string_view name) { return MakeType(name, kOther, 0); }

DataType RawType(uint64_t bytes) { return MakeType(fmt::format("r{}", 8 * bytes), kRaw, bytes); }

std::optional<DataType> FindNamedType(std::string_view name) {
  if (std::ranges::find(kBytesTypes, name) != kBytesTypes.end()) return MakeType(name, kBytes, 0);
  if (name == "complex_float32") name = "complex64";
  if (name == "complex_float64") name = "complex128";
  const auto* found = std::ranges::find(kNamedTypes, name, &NamedType::name);
  if (found != kNamedTypes.end()) return MakeType(found->name, found->kind, found->item_size);
  if (const FloatFormat* format = FindFloatFormat(name)) {
    return MakeType(name, kNarrowFloat, format->size);
  }
  if (!name.starts_with(kComplexPrefix)) return std::nullopt;
  const FloatFormat* format = FindFloatFormat(name.substr(kComplexPrefix.size()));
  if (format == nullptr) return std::nullopt;
  return MakeType(name, kNarrowComplex, 2 * format->size);
}

bool IsName(const Json& json) {
  const std::string* const text = TextOf(json);
  return text != nullptr && !text->empty();
}

// The name and configuration of a data type document.
struct Named {
  std::string_view name;
  const Json& configuration;  // null if the document has none
};

Result<DataType> ParseBits(std::string_view name, std::string_view key) {
  const std::string_view digits = name.substr(1);
  uint64_t bits = 0;
  const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), bits).ec;
  if (error == std::errc() && (bits == 0 || bits % 8 != 0 || digits[0] == '0')) {
    return Fail(ErrorCode::kDamaged,
                "{}: data_type: expected r<N> with N a multiple of 8, found {}", key,
                Excerpt(std::string(name)));
  }
  if (error != std::errc() || bits > 8 * kMaxItemBytes) {
    return Fail(ErrorCode::kUnsupported, "{}: data_type: expected r<N> with N up to {}, found {}",
                key, 8 * kMaxItemBytes, Excerpt(std::string(name)));
  }
  return RawType(bits / 8);
}

Result<DataType> ParseFixedLength(const Named& named, DataKind kind, std::string_view key) {
  const Json& found = MemberOrNull(named.configuration, "length_bytes");
  const auto length = ParseInteger(found, 64, /*is_signed=*/false);
  const size_t unit = kind == kFixedLengthUtf32 ? 4 : 1;
  if (!length || *length % unit != 0 || (*length == 0 && kind == kRaw)) {
    return Fail(ErrorCode::kDamaged, "{}: data_type: expected {} with {} as length_bytes, found {}",
                key, named.name, unit == 1 ? "at least 1" : "a multiple of 4",
                Excerpt(named.configuration));
  }
  if (*length > kMaxItemBytes && kind == kRaw) {
    return Fail(ErrorCode::kUnsupported,
                "{}: data_type: expected raw_bytes with length_bytes up to {}, found {}", key,
                kMaxItemBytes, *length);
  }
  // Readers disagree on types of length 0, so treat them as unknown, like types that are too long.
  if (*length == 0 || *length > kMaxItemBytes) return OtherType(named.name);
  if (kind == kRaw) return RawType(*length);
  return MakeType(named.name, kind, *length);
}

Result<DataType> ParseDate(const Named& named, DataKind kind, std::string_view key) {
  const Json& unit = MemberOrNull(named.configuration, "unit");
  const Json& given_scale = MemberOrNull(named.configuration, "scale_factor");
  const auto scale = given_scale.is_null() ? std::optional<uint64_t>(1)
                                           : ParseInteger(given_scale, 64, /*is_signed=*/false);
  if (!IsName(unit) || !scale) {
    return Fail(ErrorCode::kDamaged,
                "{}: data_type: expected {} with a unit and a scale_factor, found {}", key,
                named.name, Excerpt(named.configuration));
  }
  std::string text = unit.get<std::string>();
  if (text == "\u03bcs" || text == "\u00b5s") text = "us";
  if (std::find(kTimeUnits.begin(), kTimeUnits.end(), text) == kTimeUnits.end() ||
      *scale > kMaxTimeScale) {
    return OtherType(named.name);
  }
  DataType type = MakeType(named.name, kind, 8);
  type.time_unit = std::move(text);
  // numpy supports neither the scale 0 nor a scale for the unit "generic", so use 1.
  type.time_scale =
      type.time_unit == "generic" ? 1 : static_cast<uint32_t>(std::max<uint64_t>(*scale, 1));
  return type;
}

Result<DataType> ParseType(const Json& document, std::string_view key, int depth);

Result<DataType> ParseStruct(const Named& named, std::string_view key, int depth) {
  const Json& fields = MemberOrNull(named.configuration, "fields");
  if (!fields.is_array() || fields.empty()) {
    return Fail(ErrorCode::kDamaged, "{}: data_type: expected {} with a list of fields, found {}",
                key, named.name, Excerpt(named.configuration));
  }
  if (depth >= kMaxStructDepth) return OtherType(named.name);
  DataType type = MakeType(named.name, kStruct, 0);
  std::unordered_set<std::string> names;
  for (const Json& field : fields) {
    const bool is_pair = field.is_array() && field.size() == 2;
    const Json& name = is_pair ? field[0] : MemberOrNull(field, "name");
    const Json& field_type = is_pair ? field[1] : MemberOrNull(field, "data_type");
    if (!IsName(name) || field_type.is_null()) {
      return Fail(ErrorCode::kDamaged,
                  "{}: data_type: expected fields with a name and a data_type, found {}", key,
                  Excerpt(field));
    }
    if (!names.insert(name.get<std::string>()).second) {
      return Fail(ErrorCode::kDamaged, "{}: data_type: two fields named {}", key, Excerpt(name));
    }
    if (UnknownMember(field, {"name", "data_type"})) return OtherType(named.name);
    auto parsed = ParseType(field_type, key, depth + 1);
    if (!parsed) return Fail(parsed);
    if (parsed->item_size == 0) return OtherType(named.name);
    type.item_size += parsed->item_size;  // no overflow: both are at most kMaxItemBytes
    if (type.item_size > kMaxItemBytes) return OtherType(named.name);
    type.fields.push_back({name.get<std::string>(), *std::move(parsed)});
  }
  return type;
}

// Parses a data type. Does not set DataType::document.
Result<DataType> ParseType(const Json& document, std::string_view key, int depth) {
  const Json& name = document.is_object() ? MemberOrNull(document, "name") : document;
  const Json& configuration = MemberOrNull(document, "configuration");
  if (!IsName(name) || (!configuration.is_null() && !configuration.is_object())) {
    return Fail(ErrorCode::kDamaged,
                "{}: data_type: expected a name or an object with name and configuration, found {}",
                key, Excerpt(document));
  }
  const Named named{name.get_ref<const std::string&>(), configuration};

  const std::string_view digits = named.name.substr(1);
  const bool is_bits = named.name[0] == 'r' && !digits.empty() &&
                       digits.find_first_not_of("0123456789") == digits.npos;
  const std::optional<DataType> simple = FindNamedType(named.name);

  // Unknown members must not be ignored, because they may change the meaning of the type.
  auto unknown = UnknownMember(document, {"name", "configuration", "must_understand"});
  const auto allow = [&](std::initializer_list<std::string_view> known) {
    if (!unknown) unknown = UnknownMember(named.configuration, known);
    return !unknown;
  };
  if (is_bits || named.name == "raw_bytes" || (simple && simple->is_core())) {
    const bool is_raw_bytes = named.name == "raw_bytes";
    if (!(is_raw_bytes ? allow({"length_bytes"}) : allow({}))) {
      return Fail(ErrorCode::kUnsupported, "{}: data_type: {} with an unknown member {}", key,
                  named.name, Excerpt(*unknown));
    }
    if (is_bits) return ParseBits(named.name, key);
    return is_raw_bytes ? ParseFixedLength(named, kRaw, key) : Result<DataType>(*simple);
  }
  if (simple) return allow({}) ? *simple : OtherType(named.name);
  if (named.name == "fixed_length_utf32" && allow({"length_bytes"})) {
    return ParseFixedLength(named, kFixedLengthUtf32, key);
  }
  if (named.name == "null_terminated_bytes" && allow({"length_bytes"})) {
    return ParseFixedLength(named, kNullTerminatedBytes, key);
  }
  if (named.name == "numpy.datetime64" && allow({"unit", "scale_factor"})) {
    return ParseDate(named, kDatetime, key);
  }
  if (named.name == "numpy.timedelta64" && allow({"unit", "scale_factor"})) {
    return ParseDate(named, kTimedelta, key);
  }
  if ((named.name == "struct" || named.name == "structured") && allow({"fields"})) {
    return ParseStruct(named, key, depth);
  }
  return OtherType(named.name);
}

// A part of an element that has a byte order: `count` units of `size` bytes, starting at `offset`.
struct OrderedPart {
  size_t offset;
  size_t size;
  size_t count;
};

void AppendOrderedParts(const DataType& type, size_t offset, std::vector<OrderedPart>& parts) {
  if (type.kind == kStruct) {
    for (const StructField& field : type.fields) {
      AppendOrderedParts(field.type, offset, parts);
      offset += field.type.item_size;
    }
  } else if (const size_t unit = type.byte_order_unit(); unit > 1) {
    parts.push_back({offset, unit, type.item_size / unit});
  }
}

}  // namespace

size_t DataType::byte_order_unit() const {
  switch (kind) {
    case kComplex:
    case kNarrowComplex:
      return item_size / 2;
    case kFixedLengthUtf32:
      return 4;
    case kStruct: {
      size_t largest = 1;
      for (const StructField& field : fields) {
        largest = std::max(largest, field.type.byte_order_unit());
      }
      return largest;
    }
    case kRaw:
    case kNullTerminatedBytes:
    case kString:
    case kBytes:
    case kOther:
      return 1;
    default:
      return item_size;
  }
}

size_t DataType::integer_bits() const {
  if (kind == kBool) return 1;
  if (kind == kNarrowInt || kind == kNarrowUint) return name.ends_with('2') ? 2 : 4;
  return kind == kInt || kind == kUint || is_date() ? 8 * item_size : 0;
}

const FloatFormat* DataType::float_format() const {
  if (kind == kComplex) return FindFloatFormat(item_size == 8 ? "float32" : "float64");
  if (kind == kNarrowComplex) return FindFloatFormat(name.substr(kComplexPrefix.size()));
  return kind == kFloat || kind == kNarrowFloat ? FindFloatFormat(name) : nullptr;
}

Result<DataType> ParseDataType(const Json& document, std::string_view key) {
  auto type = ParseType(document, key, 0);
  if (type) type->document = document;
  return type;
}

DataType CoreType(std::string_view name) { return *ParseDataType(Json(name), name); }

void ReverseByteOrder(std::span<std::byte> elements, const DataType& type) {
  if (type.kind != kStruct) return ReverseEachItem(elements, type.byte_order_unit());
  const ByteRun all{0, type.item_size};
  ReverseByteOrder(elements, type, std::span(&all, 1));
}

void ReverseByteOrder(std::span<std::byte> elements, const DataType& type,
                      std::span<const ByteRun> runs) {
  std::vector<OrderedPart> parts;
  AppendOrderedParts(type, 0, parts);
  std::erase_if(parts, [&](const OrderedPart& part) {
    const auto run = std::ranges::upper_bound(runs, part.offset, {}, &ByteRun::end);
    return run == runs.end() || part.offset < run->first ||
           part.offset + part.size * part.count > run->end;
  });
  if (parts.empty()) return;
  for (; elements.size() >= type.item_size; elements = elements.subspan(type.item_size)) {
    for (const OrderedPart& part : parts) {
      ReverseEachItem(elements.subspan(part.offset, part.size * part.count), part.size);
    }
  }
}

}  // namespace zarrfs
