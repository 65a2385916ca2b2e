#include "zarrcore/view/v3_spelling.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "zarrcore/codec/blosc.h"
#include "zarrcore/codec/configuration.h"
#include "zarrcore/metadata/base64.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

// Removes all members of a configuration except the `known` ones, because readers refuse unknown
// members.
void KeepOnly(Json& configuration, std::initializer_list<std::string_view> known) {
  auto& members = configuration.get_ref<Json::object_t&>();
  Json::object_t kept;
  for (auto& [name, value] : members) {
    if (std::ranges::find(known, name) != known.end()) kept.emplace_back(name, std::move(value));
  }
  members = std::move(kept);
}

// Adds the "endian" of a bytes codec, which the current specification requires for types of several
// bytes. Older writers omitted it for little-endian, or wrote null.
void SpellBytes(Json& configuration, const DataType& type) {
  if (!MemberOrNull(configuration, "endian").is_null()) return;
  configuration.erase("endian");
  if (type.byte_order_unit() > 1) configuration["endian"] = "little";
}

void SpellTranspose(CodecSpec& codec, size_t rank) {
  if (const auto order = TransposeOrder(codec, rank)) codec.configuration["order"] = *order;
}

void SpellGzip(CodecSpec& codec) {
  codec.configuration["level"] = EncoderMember(codec, "level", 0, 9, 5);
  KeepOnly(codec.configuration, {"level"});
}

void SpellZstd(CodecSpec& codec) {
  constexpr int64_t kLowest = -131072;  // the lowest level in tensorstore and zarr-python
  constexpr int64_t kHighest = 22;
  codec.configuration["level"] = EncoderMember(codec, "level", kLowest, kHighest, 0);
  codec.configuration["checksum"] = MemberOrNull(codec.configuration, "checksum") == true;
  KeepOnly(codec.configuration, {"level", "checksum"});
}

// Writes out all parameters of blosc, with defaults for missing ones. Only writers use these
// parameters; readers use the header of the compressed data.
void SpellBlosc(CodecSpec& codec, const DataType& type) {
  const BloscParameters parameters = BloscParametersOf(codec, type.item_size);
  Json& configuration = codec.configuration;
  configuration["typesize"] = parameters.type_size;
  configuration["cname"] = parameters.compressor;
  configuration["clevel"] = parameters.level;
  configuration["shuffle"] = parameters.shuffle_name();
  configuration["blocksize"] = parameters.block_size;
  KeepOnly(configuration, {"typesize", "cname", "clevel", "shuffle", "blocksize"});
}

}  // namespace

std::vector<CodecSpec> InTodaysSpelling(std::vector<CodecSpec> codecs, size_t rank,
                                        const DataType& type) {
  for (CodecSpec& codec : codecs) {
    if (codec.name == "bytes") {
      SpellBytes(codec.configuration, type);
    } else if (codec.name == "transpose") {
      SpellTranspose(codec, rank);
    } else if (codec.name == "gzip") {
      SpellGzip(codec);
    } else if (codec.name == "zstd") {
      SpellZstd(codec);
    } else if (codec.name == "blosc") {
      SpellBlosc(codec, type);
    }
  }
  return codecs;
}

Json DataTypeInTodaysSpelling(const DataType& type) {
  if (type.is_core() && type.kind != DataKind::kRaw) return type.name;
  Json document = type.document;
  if (!document.is_object() || !document.contains("name")) return document;
  const Json& configuration = MemberOrNull(document, "configuration");
  if (configuration.is_null() || configuration.empty()) {
    // A data type with a name only is spelled as a string; one with unknown members stays an
    // object.
    const bool says_more =
        UnknownMember(document, {"name", "configuration", "must_understand"}).has_value();
    if (!says_more) return document["name"];
  }
  if (type.is_date() && MemberOrNull(configuration, "scale_factor") != type.time_scale) {
    document["configuration"]["scale_factor"] = type.time_scale;
  }
  return document;
}

Json FillValueInTodaysSpelling(const Json& given, const FillBytes& fill, const DataType& type) {
  switch (type.kind) {
    case DataKind::kOther:
      return given;
    case DataKind::kRaw:
    case DataKind::kStruct:
      // zarr-python reads fill values of raw types and structs as base64.
      return given.is_null() ? Json(EncodeBase64(fill)) : given;
    case DataKind::kBytes:
    case DataKind::kNullTerminatedBytes:
      return given.is_null() || given.is_array() ? FillValueToV3(fill, type) : given;
    case DataKind::kDatetime:
    case DataKind::kTimedelta:
      return given == "NaT" ? given : FillValueToV3(fill, type);
    default:
      return FillValueToV3(fill, type);
  }
}

}  // namespace zarrfs
