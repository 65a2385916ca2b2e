#include "zarrcore/metadata/v2_dtype.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "zarrcore/base/number_text.h"

namespace zarrfs {
namespace {

constexpr std::array kNumbers = {
    NumpyNumber{"b1", "bool", 1},      NumpyNumber{"i1", "int8", 1},
    NumpyNumber{"i2", "int16", 2},     NumpyNumber{"i4", "int32", 4},
    NumpyNumber{"i8", "int64", 8},     NumpyNumber{"u1", "uint8", 1},
    NumpyNumber{"u2", "uint16", 2},    NumpyNumber{"u4", "uint32", 4},
    NumpyNumber{"u8", "uint64", 8},    NumpyNumber{"f2", "float16", 2},
    NumpyNumber{"f4", "float32", 4},   NumpyNumber{"f8", "float64", 8},
    NumpyNumber{"c8", "complex64", 8}, NumpyNumber{"c16", "complex128", 16},
};

Json Configured(std::string_view name, Json configuration) {
  return Json{{"name", name}, {"configuration", std::move(configuration)}};
}

// Parses a unit such as "[10us]"; nullopt if it is invalid.
std::optional<Json> ParseUnit(std::string_view text) {
  if (text.empty()) return Json{{"unit", "generic"}, {"scale_factor", 1}};
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto scale =
      digits == 0 ? std::optional<uint32_t>(1) : NumberFrom<uint32_t>(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  if (!scale || *scale == 0 || unit.empty()) return std::nullopt;
  return Json{{"unit", unit}, {"scale_factor", *scale}};
}

tl::unexpected<Error> NoDtype(const Json& dtype, std::string_view key) {
  return Fail(ErrorCode::kDamaged,
              "{}: dtype: expected a string such as \"<f8\" or a list of fields, found {}", key,
              Excerpt(dtype));
}

tl::unexpected<Error> Unknown(const Json& dtype, std::string_view key) {
  return Fail(ErrorCode::kUnsupported, "{}: dtype {} is not known", key, Excerpt(dtype));
}

Result<V2Dtype> ParseText(const Json& dtype, std::string_view key) {
  std::string_view text = dtype.get_ref<const std::string&>();
  // numpy reads "|", "=" and no prefix as the byte order of the machine, which is little-endian.
  const char order = text.starts_with('>') ? '>' : '<';
  text = WithoutByteOrder(text);
  if (text.empty()) return NoDtype(dtype, key);
  V2Dtype type;
  if (text == "O") return type;
  if (const NumpyNumber* const number = FindNumpyNumber(text)) {
    type.data_type = number->data_type;
    type.number = text;
    type.item_size = number->item_size;
    if (type.item_size > 1) type.byte_order = order;
    return type;
  }
  const char kind = text[0];
  const std::string_view rest = text.substr(1);
  if ((kind == 'M' || kind == 'm') && rest.starts_with('8')) {
    auto unit = ParseUnit(rest.substr(1));
    if (!unit) return NoDtype(dtype, key);
    type.data_type =
        Configured(kind == 'M' ? "numpy.datetime64" : "numpy.timedelta64", *std::move(unit));
    type.item_size = 8;
    type.byte_order = order;
    return type;
  }
  const auto length = NumberFrom<uint32_t>(rest);
  if (!length) return NoDtype(dtype, key);
  if (*length == 0) return Unknown(dtype, key);
  type.item_size = *length;
  std::string_view name;
  if (kind == 'S') {
    name = "null_terminated_bytes";
  } else if (kind == 'V') {
    name = "raw_bytes";
  } else if (kind == 'U') {
    name = "fixed_length_utf32";
    type.item_size *= 4;
    type.byte_order = order;
  } else {
    return Unknown(dtype, key);
  }
  type.data_type = Configured(name, Json{{"length_bytes", type.item_size}});
  return type;
}

// The number of elements of a field with this shape; nullopt if the shape is invalid or too large.
std::optional<size_t> ElementsOf(const Json& shape) {
  if (!shape.is_array()) return ElementsOf(Json::array({shape}));
  uint64_t elements = 1;
  for (const Json& extent : shape) {
    const auto length = ParseInteger(extent, 32, /*is_signed=*/false);
    if (!length || *length == 0) return std::nullopt;
    elements *= *length;
    if (elements > kMaxArrayParts) return std::nullopt;
  }
  return elements;
}

Json StructOf(Json fields) {
  // zarr-python accepts only the name "structured", with fields that are pairs.
  return Configured("structured", Json{{"fields", std::move(fields)}});
}

void AppendRuns(const std::vector<ByteRun>& runs, size_t offset, std::vector<ByteRun>& to) {
  for (const ByteRun& run : runs) to.push_back({run.first + offset, run.end + offset});
}

// The type that consists of `count` consecutive elements.
V2Dtype ArrayOf(const V2Dtype& element, size_t count) {
  V2Dtype type = element;
  type.number.clear();
  type.item_size *= count;
  type.parts *= count;
  Json fields = Json::array();
  for (size_t i = 0; i < count; ++i) {
    fields.push_back(Json::array({fmt::format("{}", i), element.data_type}));
  }
  type.data_type = StructOf(std::move(fields));
  type.big.clear();
  for (size_t i = 0; i < count; ++i) AppendRuns(element.big, i * element.item_size, type.big);
  return type;
}

Result<V2Dtype> ParseFields(const Json& dtype, std::string_view key) {
  if (dtype.empty()) return NoDtype(dtype, key);
  V2Dtype type;
  type.parts = 0;
  bool is_mixed = false;
  Json fields = Json::array();
  for (const Json& field : dtype) {
    if (!field.is_array() || field.size() < 2 || field.size() > 3 || TextOf(field[0]) == nullptr) {
      return NoDtype(field, key);
    }
    auto part = ParseV2Dtype(field[1], key);
    if (!part) return part;
    if (part->is_object()) return Unknown(field, key);
    if (field.size() == 3 && field[2] != Json::array()) {
      const auto elements = ElementsOf(field[2]);
      if (!elements || part->parts * *elements > kMaxArrayParts) {
        return Fail(ErrorCode::kUnsupported,
                    "{}: dtype: expected fields of at most {} elements, found {}", key,
                    kMaxArrayParts, Excerpt(field));
      }
      part = ArrayOf(*part, *elements);
    }
    Json name = field[0];
    if (name == "") name = fmt::format("f{}", fields.size());
    is_mixed |= !part->big.empty() || (part->byte_order != '|' && type.byte_order != '|' &&
                                       part->byte_order != type.byte_order);
    if (type.byte_order == '|') type.byte_order = part->byte_order;
    AppendRuns(part->big, type.item_size, type.big);
    if (part->byte_order == '>') {
      type.big.push_back({type.item_size, type.item_size + part->item_size});
    }
    type.item_size += part->item_size;
    type.parts += part->parts;
    fields.push_back(Json::array({std::move(name), std::move(part->data_type)}));
  }
  if (is_mixed) type.byte_order = '<';
  if (!is_mixed) type.big.clear();
  type.data_type = StructOf(std::move(fields));
  return type;
}

}  // namespace

const NumpyNumber* FindNumpyNumber(std::string_view code) {
  const auto* const found = std::ranges::find(kNumbers, code, &NumpyNumber::code);
  return found == kNumbers.end() ? nullptr : found;
}

std::string_view WithoutByteOrder(std::string_view text) {
  const bool has_order = !text.empty() && std::string_view("<>|=").find(text[0]) != text.npos;
  return has_order ? text.substr(1) : text;
}

Result<V2Dtype> ParseV2Dtype(const Json& dtype, std::string_view key) {
  if (dtype.is_array()) return ParseFields(dtype, key);
  return TextOf(dtype) != nullptr ? ParseText(dtype, key) : NoDtype(dtype, key);
}

}  // namespace zarrfs
