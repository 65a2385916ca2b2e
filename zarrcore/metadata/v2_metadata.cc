#include "zarrcore/metadata/v2_metadata.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/metadata/base64.h"
#include "zarrcore/metadata/float_format.h"
#include "zarrcore/metadata/v2_codecs.h"
#include "zarrcore/metadata/v2_dtype.h"

namespace zarrfs {
namespace {

constexpr const char* kDimensions = "_ARRAY_DIMENSIONS";
constexpr const char* kFillAttribute = "_FillValue";

Result<Json> ParseObject(const NamedText& document) {
  if (document.text.size() > kMaxMetadataBytes) {
    return Fail(ErrorCode::kTooLarge, "{}: expected at most {} bytes, found {}", document.key,
                kMaxMetadataBytes, document.text.size());
  }
  auto json = ParseJson(document.text, document.key);
  if (json && !json->is_object()) {
    return Fail(ErrorCode::kDamaged, "{}: expected an object, found {}", document.key,
                Excerpt(*json));
  }
  return json;
}

Result<Json> ParseV2(const NamedText& document) {
  auto json = ParseObject(document);
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

Result<Json> ParseAttributes(const std::optional<NamedText>& zattrs) {
  return zattrs ? ParseObject(*zattrs) : Json::object();
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

// Base64 of the item in the byte order of the array; numpy pads what is too short.
std::optional<FillBytes> ParseOpaqueFill(const Json& given, const DataType& type, char byte_order) {
  if (!given.is_string() || NonFinite(given)) return std::nullopt;
  auto bytes = DecodeBase64(given.get_ref<const std::string&>());
  if (!bytes || bytes->size() > type.item_size) return std::nullopt;
  bytes->resize(type.item_size);
  if (byte_order == '>') ReverseByteOrder(*bytes, type);
  return bytes;
}

Result<FillBytes> ParseFill(const Json& given, const DataType& type, char byte_order,
                            std::string_view key) {
  const bool is_number = type.is_core() && type.kind != DataKind::kRaw;
  const bool is_date = type.kind == DataKind::kDatetime || type.kind == DataKind::kTimedelta;
  // Old writers have the number 0 for a text of no characters and an item of zero bytes.
  if (given.is_null() || (!is_number && !is_date && given == 0)) return FillBytes(type.item_size);
  if (type.kind == DataKind::kRaw || type.kind == DataKind::kStruct) {
    auto bytes = ParseOpaqueFill(given, type, byte_order);
    if (bytes) return *std::move(bytes);
    return Fail(ErrorCode::kDamaged,
                "{}: fill_value: expected base64 text of at most {} bytes, found {}", key,
                type.item_size, Excerpt(given));
  }
  return ParseFillValue(given, type, key);
}

Json FillToV3(const FillBytes& fill, const DataType& type) {
  // (Of the spellings of v3, those that zarr-python reads.)
  if (type.kind == DataKind::kRaw || type.kind == DataKind::kStruct) return EncodeBase64(fill);
  return FillValueToV3(fill, type);
}

// xarray's FillValueCoder: base64 of the number as a little-endian float64.
Json EncodeFloatAttribute(std::span<const std::byte> item) {
  constexpr std::array<std::string_view, 4> kNames = {"", "float16", "float32", "float64"};
  const FloatFormat& format =
      *FindFloatFormat(kNames[static_cast<size_t>(std::countr_zero(item.size()))]);
  uint64_t bits = 0;
  for (size_t i = item.size(); i-- > 0;) bits = bits << 8 | static_cast<uint64_t>(item[i]);
  std::array<std::byte, sizeof(double)> encoded;
  StoreLittle(encoded.data(), std::bit_cast<uint64_t>(DecodeFloat(bits, format)));
  return EncodeBase64(encoded);
}

// Null for types that xarray has no spelling for.
Json FillAttribute(const FillBytes& fill, const DataType& type) {
  const std::span<const std::byte> item(fill);
  switch (type.kind) {
    case DataKind::kBool:
    case DataKind::kInt:
    case DataKind::kUint:
      return FillValueToV3(fill, type);
    case DataKind::kFloat:
      return EncodeFloatAttribute(item);
    case DataKind::kComplex:
      return Json::array({EncodeFloatAttribute(item.first(item.size() / 2)),
                          EncodeFloatAttribute(item.last(item.size() / 2))});
    default:
      return nullptr;
  }
}

// Names alone, in the order of encoding, for whoever describes the array.
std::vector<CodecSpec> NamesOfCodecs(const Json& zarray) {
  std::vector<CodecSpec> names;
  const auto add = [&](const Json& codec) {
    const Json& id = codec.is_object() ? MemberOrNull(codec, "id") : codec;
    if (!id.is_string() || NonFinite(id)) return;
    names.push_back(CodecSpec{"numcodecs." + id.get<std::string>()});
  };
  const Json& filters = MemberOrNull(zarray, "filters");
  if (filters.is_array()) std::ranges::for_each(filters, add);
  add(MemberOrNull(zarray, "compressor"));
  if (names.empty()) names.push_back(CodecSpec{"bytes"});
  return names;
}

// Null where the attribute does not name every dimension.
Json TakeDimensionNames(Json& attributes, size_t rank) {
  const auto found = attributes.find(kDimensions);
  const auto is_name = [](const Json& name) { return name.is_string() && !NonFinite(name); };
  if (found == attributes.end() || !found->is_array() || found->size() != rank ||
      !std::ranges::all_of(*found, is_name)) {
    return nullptr;
  }
  Json names = std::move(*found);
  attributes.erase(kDimensions);
  return names;
}

}  // namespace

Result<ArrayMetadata> ParseZarray(const NamedText& zarray, const std::optional<NamedText>& zattrs) {
  const std::string_view key = zarray.key;
  const auto given = ParseV2(zarray);
  if (!given) return Fail(given);
  auto attributes = ParseAttributes(zattrs);
  if (!attributes) return Fail(attributes);
  for (const char* member : {"shape", "chunks", "dtype"}) {
    if (!given->contains(member)) {
      return Fail(ErrorCode::kDamaged, "{}: expected a member {}, found none", key, member);
    }
  }
  const Json& shape = (*given)["shape"];
  const Json& chunks = (*given)["chunks"];
  if (!shape.is_array() || !chunks.is_array() || chunks.size() != shape.size()) {
    return Fail(ErrorCode::kDamaged,
                "{}: expected lists of as many integers as shape and chunks, found {} and {}", key,
                Excerpt(shape), Excerpt(chunks));
  }
  const auto dtype = ParseV2Dtype((*given)["dtype"], key);
  if (!dtype) return Fail(dtype);
  auto chain = ParseV2Codecs(*given, *dtype, shape.size(), key);
  if (!chain) return Fail(chain);
  auto key_encoding = KeyEncoding(*given, key);
  if (!key_encoding) return Fail(key_encoding);

  const auto type = ParseDataType(chain->data_type, key);
  if (!type) return Fail(type);
  // The names are all known: what is not is beyond a cap, or has a unit that is none.
  if (type->kind == DataKind::kOther) {
    return Fail(ErrorCode::kUnsupported, "{}: dtype {} is not known", key,
                Excerpt((*given)["dtype"]));
  }
  const auto given_fill = given->find("fill_value");
  const bool has_fill = given_fill != given->end() && !given_fill->is_null();
  const auto fill = ParseFill(has_fill ? *given_fill : Json(), *type, dtype->byte_order, key);
  if (!fill) return Fail(fill);
  if (has_fill && !attributes->contains(kFillAttribute)) {
    Json attribute = FillAttribute(*fill, *type);
    if (!attribute.is_null()) (*attributes)[kFillAttribute] = std::move(attribute);
  }
  Json names = TakeDimensionNames(*attributes, shape.size());

  Json document;
  document["zarr_format"] = 3;
  document["node_type"] = "array";
  document["shape"] = shape;
  document["data_type"] = std::move(chain->data_type);
  document["chunk_grid"] = Json{{"name", "regular"}, {"configuration", {{"chunk_shape", chunks}}}};
  document["chunk_key_encoding"] = *std::move(key_encoding);
  document["fill_value"] = FillToV3(*fill, *type);
  document["codecs"] = std::move(chain->codecs);
  document["attributes"] = *std::move(attributes);
  if (!names.is_null()) document["dimension_names"] = std::move(names);
  auto node = ParseZarrDocument(std::move(document), key);
  if (!node) return Fail(node);
  auto array = std::get<ArrayMetadata>(*std::move(node));
  array.undefined_fill = !has_fill;
  return array;
}

Result<ArrayMetadata> ParseZarrayGrid(const NamedText& zarray, const Error& reason) {
  const std::string_view key = zarray.key;
  const auto given = ParseV2(zarray);
  if (!given) return Fail(given);
  auto key_encoding = KeyEncoding(*given, key);
  if (!key_encoding) return Fail(key_encoding);

  // The rules for shape and chunks are those of zarr.json.
  Json document;
  document["zarr_format"] = 3;
  document["node_type"] = "array";
  document["shape"] = MemberOrNull(*given, "shape");
  document["data_type"] = "uint8";
  document["chunk_grid"] = Json{
      {"name", "regular"}, {"configuration", {{"chunk_shape", MemberOrNull(*given, "chunks")}}}};
  document["chunk_key_encoding"] = *std::move(key_encoding);
  document["fill_value"] = 0;
  document["codecs"] = Json::array({"bytes"});
  auto node = ParseZarrDocument(std::move(document), key);
  if (!node) return Fail(node);
  auto array = std::get<ArrayMetadata>(*std::move(node));

  const Json& dtype = MemberOrNull(*given, "dtype");
  array.data_type = DataType{
      .name = dtype.is_string() && !NonFinite(dtype) ? dtype.get<std::string>() : Excerpt(dtype),
      .document = dtype};
  array.fill_value = {};
  array.undefined_fill = MemberOrNull(*given, "fill_value").is_null();
  array.document["fill_value"] = MemberOrNull(*given, "fill_value");
  array.codecs = NamesOfCodecs(*given);
  array.grid_only = reason;
  return array;
}

Result<GroupMetadata> ParseZgroup(const NamedText& zgroup, const std::optional<NamedText>& zattrs) {
  const auto given = ParseV2(zgroup);
  if (!given) return Fail(given);
  auto attributes = ParseAttributes(zattrs);
  if (!attributes) return Fail(attributes);
  Json document = {{"zarr_format", 3}, {"node_type", "group"}};
  document["attributes"] = *std::move(attributes);
  auto node = ParseZarrDocument(std::move(document), zgroup.key);
  if (!node) return Fail(node);
  return std::get<GroupMetadata>(*std::move(node));
}

}  // namespace zarrfs
