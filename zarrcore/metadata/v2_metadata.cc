#include "zarrcore/metadata/v2_metadata.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/metadata/base64.h"
#include "zarrcore/metadata/nczarr.h"
#include "zarrcore/metadata/v2_codecs.h"
#include "zarrcore/metadata/v2_dtype.h"

namespace zarrfs {
namespace {

constexpr const char* kDimensions = "_ARRAY_DIMENSIONS";
constexpr const char* kFillAttribute = "_FillValue";
constexpr const char* kNczarrArray = "_NCZARR_ARRAY";

Result<Json> ParseObject(const NamedText& document, std::vector<std::string>& notes) {
  if (document.text.size() > kMaxMetadataBytes) {
    return Fail(ErrorCode::kTooLarge, "{}: expected at most {} bytes, found {}", document.key,
                kMaxMetadataBytes, document.text.size());
  }
  auto json = ParseJson(document.text, document.key, notes);
  if (json && !json->is_object()) {
    return Fail(ErrorCode::kDamaged, "{}: expected an object, found {}", document.key,
                Excerpt(*json));
  }
  return json;
}

Result<Json> ParseV2(const NamedText& document, std::vector<std::string>& notes) {
  auto json = ParseObject(document, notes);
  if (!json) return json;
  const auto format = json->find("zarr_format");
  if (format == json->end() || *format != 2) {
    const bool is_other = format != json->end() && format->is_number();
    return Fail(is_other ? ErrorCode::kUnsupported : ErrorCode::kDamaged,
                "{}: zarr_format: expected 2, found {}", document.key,
                format == json->end() ? "none" : Excerpt(*format));
  }
  return json;
}

// Parses the attributes of a node. Replaces invalid attributes with an empty object, so they do not
// hide the node or the nodes below it.
Json ParseAttributes(const std::optional<NamedText>& zattrs, std::vector<std::string>& notes) {
  if (!zattrs) return Json::object();
  auto attributes = ParseObject(*zattrs, notes);
  if (attributes) return *std::move(attributes);
  notes.push_back(fmt::format("{}; the attributes are left out", attributes.error().message));
  return Json::object();
}

Result<Json> KeyEncoding(const Json& zarray, std::string_view key) {
  const auto given = zarray.find("dimension_separator");
  const Json separator = given == zarray.end() || given->is_null() ? Json(".") : *given;
  if (separator != "." && separator != "/") {
    return Fail(ErrorCode::kDamaged, "{}: dimension_separator: expected \"/\" or \".\", found {}",
                key, Excerpt(separator));
  }
  return Json{{"name", "v2"}, {"configuration", {{"separator", separator}}}};
}

// Decodes a fill value from base64 in the array's byte order. Pads a value that is too short, like
// numpy.
std::optional<FillBytes> ParseOpaqueFill(const Json& given, const DataType& type,
                                         const V2Dtype& dtype) {
  const std::string* const text = TextOf(given);
  auto bytes = text == nullptr ? std::nullopt : DecodeBase64(*text);
  if (!bytes || bytes->size() > type.item_size) return std::nullopt;
  bytes->resize(type.item_size);
  if (dtype.byte_order == '>') ReverseByteOrder(*bytes, type);
  if (!dtype.big.empty()) ReverseByteOrder(*bytes, type, dtype.big);
  return bytes;
}

// Parses a number in a string, such as "0", "0.0" or "nan". n5-zarr and others write such strings,
// and numpy parses them.
std::optional<Json> NumberOfText(const Json& given) {
  if (TextOf(given) == nullptr) return std::nullopt;
  std::string text = *TextOf(given);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (text.starts_with('+')) text.erase(0, 1);
  if (text == "nan" || text == "-nan") return "NaN";
  if (text == "inf" || text == "infinity") return "Infinity";
  if (text == "-inf" || text == "-infinity") return "-Infinity";
  if (text == "true" || text == "false") return text == "true";
  const char* const end = text.data() + text.size();
  const auto parse = [&](auto number) -> std::optional<Json> {
    const auto [last, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && last == end ? std::optional<Json>(number) : std::nullopt;
  };
  if (auto integer = parse(uint64_t{0})) return integer;
  if (auto integer = parse(int64_t{0})) return integer;
  return parse(double{0});
}

Result<FillBytes> ParseFill(const Json& given, const DataType& type, const V2Dtype& dtype,
                            std::string_view key) {
  const bool is_number = type.is_core() && type.kind != DataKind::kRaw;
  // zarr-python converts a numeric fill value to a string if the array holds strings.
  const bool is_bytes = type.kind == DataKind::kNullTerminatedBytes;
  const bool is_text =
      is_bytes || type.kind == DataKind::kFixedLengthUtf32 || type.kind == DataKind::kString;
  if (is_text && given.is_number_integer()) {
    const std::string digits = given.dump();
    return ParseFillValue(
        is_bytes ? Json(EncodeBase64(std::as_bytes(std::span(digits)))) : Json(digits), type, key);
  }
  if (given.is_null() && type.is_date()) return ParseFillValue("NaT", type, key);
  // Old writers use the number 0 for an item whose bytes are all zero.
  if (given.is_null() || (!is_number && !type.is_date() && given == 0)) {
    return FillBytes(type.item_size);
  }
  if (type.kind == DataKind::kRaw || type.kind == DataKind::kStruct) {
    auto bytes = ParseOpaqueFill(given, type, dtype);
    if (bytes) return *std::move(bytes);
    return Fail(ErrorCode::kDamaged,
                "{}: fill_value: expected a base64 string of at most {} bytes, found {}", key,
                type.item_size, Excerpt(given));
  }
  auto fill = ParseFillValue(given, type, key);
  if (!fill && is_number) {
    if (const auto number = NumberOfText(given)) {
      if (auto read = ParseFillValue(*number, type, key)) return read;
    }
  }
  return fill;
}

Json FillToV3(const FillBytes& fill, const DataType& type) {
  // In v3, zarr-python reads the fill values of raw types and structs as base64.
  if (type.kind == DataKind::kRaw || type.kind == DataKind::kStruct) return EncodeBase64(fill);
  return FillValueToV3(fill, type);
}

// Encodes a number like xarray's FillValueCoder: base64 of a little-endian float64.
Json EncodeFloatAttribute(std::span<const std::byte> item, const DataType& type) {
  const double number = DecodeFloat(LoadLittle(item), *type.float_format());
  std::array<std::byte, sizeof number> encoded;
  StoreLittle(encoded, std::bit_cast<uint64_t>(number));
  return EncodeBase64(encoded);
}

// The fill value as the attribute _FillValue, in xarray's spelling. Null for types for which xarray
// reads no _FillValue.
Json FillAttribute(const FillBytes& fill, const DataType& type) {
  const std::span<const std::byte> item(fill);
  switch (type.kind) {
    case DataKind::kBool:
    case DataKind::kInt:
    case DataKind::kUint:
      return FillValueToV3(fill, type);
    case DataKind::kFloat:
      return EncodeFloatAttribute(item, type);
    case DataKind::kComplex:
      return Json::array({EncodeFloatAttribute(item.first(item.size() / 2), type),
                          EncodeFloatAttribute(item.last(item.size() / 2), type)});
    default:
      return nullptr;
  }
}

// Drops an attribute _FillValue that is not a value of the type. xarray would mask that value
// instead of the fill value.
void DropBadFillAttribute(Json& attributes, const DataType& type, std::string_view key,
                          std::vector<std::string>& notes) {
  const auto given = attributes.find(kFillAttribute);
  const bool is_number = type.kind == DataKind::kBool || type.kind == DataKind::kInt ||
                         type.kind == DataKind::kUint || type.kind == DataKind::kFloat ||
                         type.kind == DataKind::kComplex;
  if (given == attributes.end() || !is_number || DecodeFillAttribute(*given, type)) return;
  notes.push_back(fmt::format("{}: attribute {} left out: found {}, expected {}", key,
                              kFillAttribute, Excerpt(*given), type.name));
  attributes.erase(given);
}

// Returns the names of the codecs in encoding order, to describe an array that cannot be decoded.
std::vector<CodecSpec> NamesOfCodecs(const Json& zarray) {
  std::vector<CodecSpec> names;
  const auto add = [&](const Json& codec) {
    const std::string* id = TextOf(codec.is_object() ? MemberOrNull(codec, "id") : codec);
    if (id != nullptr) names.push_back(CodecSpec{"numcodecs." + *id});
  };
  const Json& filters = MemberOrNull(zarray, "filters");
  if (filters.is_array()) std::ranges::for_each(filters, add);
  add(MemberOrNull(zarray, "compressor"));
  if (names.empty()) names.push_back(CodecSpec{"bytes"});
  return names;
}

// Removes _ARRAY_DIMENSIONS from the attributes and returns it. If it does not name every
// dimension, keeps it and returns null.
Json TakeDimensionNames(Json& attributes, size_t rank) {
  const auto found = attributes.find(kDimensions);
  if (found == attributes.end() || !found->is_array() || found->size() != rank ||
      !std::ranges::all_of(*found, TextOf)) {
    return nullptr;
  }
  Json names = std::move(*found);
  attributes.erase(kDimensions);
  return names;
}

// Builds a zarr.json equivalent to `zarray`. ParseZarrDocument() then checks shape and chunks.
Json ArrayDocument(const Json& zarray, Json data_type, Json key_encoding, Json fill_value,
                   Json codecs) {
  Json grid = {{"name", "regular"},
               {"configuration", {{"chunk_shape", MemberOrNull(zarray, "chunks")}}}};
  return {{"zarr_format", 3},
          {"node_type", "array"},
          {"shape", MemberOrNull(zarray, "shape")},
          {"data_type", std::move(data_type)},
          {"chunk_grid", std::move(grid)},
          {"chunk_key_encoding", std::move(key_encoding)},
          {"fill_value", std::move(fill_value)},
          {"codecs", std::move(codecs)}};
}

template <typename Metadata>
Result<Metadata> ParseAs(Json document, std::string_view key, std::vector<std::string>&& notes) {
  auto node = ParseZarrDocument(std::move(document), key);
  if (!node) return Fail(node);
  auto metadata = std::get<Metadata>(*std::move(node));
  metadata.notes = std::move(notes);
  return metadata;
}

}  // namespace

Result<ArrayMetadata> ParseZarray(const NamedText& zarray, const std::optional<NamedText>& zattrs) {
  const std::string_view key = zarray.key;
  std::vector<std::string> notes;
  const auto given = ParseV2(zarray, notes);
  if (!given) return Fail(given);
  Json attributes = ParseAttributes(zattrs, notes);
  for (const char* member : {"shape", "chunks", "dtype"}) {
    if (!given->contains(member)) {
      return Fail(ErrorCode::kDamaged, "{}: expected a member {}, found none", key, member);
    }
  }
  const Json& shape = (*given)["shape"];
  const Json& chunks = (*given)["chunks"];
  if (!shape.is_array() || !chunks.is_array() || chunks.size() != shape.size()) {
    return Fail(ErrorCode::kDamaged,
                "{}: expected shape and chunks as lists of equally many integers, found {} and {}",
                key, Excerpt(shape), Excerpt(chunks));
  }
  const auto dtype = ParseV2Dtype((*given)["dtype"], key);
  if (!dtype) return Fail(dtype);
  auto chain = ParseV2Codecs(*given, *dtype, shape.size(), key);
  if (!chain) return Fail(chain);
  auto key_encoding = KeyEncoding(*given, key);
  if (!key_encoding) return Fail(key_encoding);

  const auto type = ParseDataType(chain->data_type, key);
  if (!type) return Fail(type);
  // ParseDataType() supports every type that ParseV2Dtype() returns, so this type exceeds a limit
  // or has an invalid unit.
  if (type->kind == DataKind::kOther) {
    return Fail(ErrorCode::kUnsupported, "{}: dtype {} is not known", key,
                Excerpt((*given)["dtype"]));
  }
  const Json& given_fill = MemberOrNull(*given, "fill_value");
  const bool has_fill = !given_fill.is_null();
  const auto fill = ParseFill(given_fill, *type, *dtype, key);
  if (!fill) return Fail(fill);
  DropBadFillAttribute(attributes, *type, key, notes);
  if (has_fill && !attributes.contains(kFillAttribute)) {
    Json attribute = FillAttribute(*fill, *type);
    if (!attribute.is_null()) attributes[kFillAttribute] = std::move(attribute);
  }
  // netCDF-C up to 4.9.2 writes its notes into .zarray instead of the attributes.
  if (const Json& notes_of_array = MemberOrNull(*given, kNczarrArray);
      notes_of_array.is_object() && !attributes.contains(kNczarrArray)) {
    attributes[kNczarrArray] = notes_of_array;
  }
  Json names = TakeDimensionNames(attributes, shape.size());
  if (auto noted = NczarrDimensions(attributes, shape.size());
      names.is_null() && !noted.empty() && !attributes.contains(kDimensions)) {
    names = std::move(noted);
  }

  Json document = ArrayDocument(*given, std::move(chain->data_type), *std::move(key_encoding),
                                FillToV3(*fill, *type), std::move(chain->codecs));
  document["attributes"] = std::move(attributes);
  if (!names.is_null()) document["dimension_names"] = std::move(names);
  auto array = ParseAs<ArrayMetadata>(std::move(document), key, std::move(notes));
  if (array) array->undefined_fill = !has_fill;
  return array;
}

Result<ArrayMetadata> ParseZarrayGrid(const NamedText& zarray, const Error& reason) {
  const std::string_view key = zarray.key;
  std::vector<std::string> notes;
  const auto given = ParseV2(zarray, notes);
  if (!given) return Fail(given);
  auto key_encoding = KeyEncoding(*given, key);
  if (!key_encoding) return Fail(key_encoding);

  auto array = ParseAs<ArrayMetadata>(
      ArrayDocument(*given, "uint8", *std::move(key_encoding), 0, Json::array({"bytes"})), key,
      std::move(notes));
  if (!array) return array;
  const Json& dtype = MemberOrNull(*given, "dtype");
  array->data_type = DataType{.name = TextOf(dtype) != nullptr ? *TextOf(dtype) : Excerpt(dtype),
                              .document = dtype,
                              .fields = {}};
  array->fill_value = {};
  array->undefined_fill = MemberOrNull(*given, "fill_value").is_null();
  array->document["fill_value"] = MemberOrNull(*given, "fill_value");
  array->codecs = NamesOfCodecs(*given);
  array->grid_only = reason;
  return array;
}

Result<GroupMetadata> ParseZgroup(const NamedText& zgroup, const std::optional<NamedText>& zattrs) {
  std::vector<std::string> notes;
  const auto given = ParseV2(zgroup, notes);
  if (!given) return Fail(given);
  Json document = {{"zarr_format", 3}, {"node_type", "group"}};
  document["attributes"] = ParseAttributes(zattrs, notes);
  return ParseAs<GroupMetadata>(std::move(document), zgroup.key, std::move(notes));
}

}  // namespace zarrfs
