#include "zarrcore/metadata/metadata.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/metadata/integer.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

constexpr uint64_t kMaxExtent = (uint64_t{1} << 63) - 1;

constexpr std::array kArrayMembers = {
    "zarr_format"sv, "node_type"sv,          "shape"sv,      "data_type"sv,
    "chunk_grid"sv,  "chunk_key_encoding"sv, "fill_value"sv, "codecs"sv,
    "attributes"sv,  "dimension_names"sv,    "extensions"sv, "storage_transformers"sv,
};
constexpr std::array kGroupMembers = {
    "zarr_format"sv, "node_type"sv, "attributes"sv, "consolidated_metadata"sv, "extensions"sv,
};

// An excerpt of a name without its own quotes.
std::string InQuotes(const std::string& name) {
  std::string excerpt = Excerpt(name).substr(1);
  if (excerpt.ends_with('"')) excerpt.pop_back();
  return excerpt;
}

std::optional<uint64_t> ToUnsigned(const Json& json) {
  return ParseInteger(json, 64, /*is_signed=*/false);
}

// Core specification, "Extension definition": a name or an object with name and configuration.
struct Extension {
  std::string name;
  Json configuration = Json::object();
};

// `also`: one more member that old writers put beside the name; "" for none.
Result<Extension> ParseExtension(const Json& document, std::string_view key,
                                 std::string_view member, std::string_view also = "") {
  const Json& name = document.is_object() ? MemberOrNull(document, "name") : document;
  if (!name.is_string() || NonFinite(name) || name.get_ref<const std::string&>().empty()) {
    return Fail(ErrorCode::kDamaged, "{}: {}: expected a name or an object with a name, found {}",
                key, member, Excerpt(document));
  }
  Extension extension{name.get<std::string>()};
  if (document.is_string()) return extension;
  for (const auto& [other, value] : document.items()) {
    if (other != "name" && other != "configuration" && other != "must_understand" &&
        (also.empty() || other != also)) {
      // Skipping it could mean reading wrongly: {"name": "bytes", "endian": "big"}.
      return Fail(ErrorCode::kUnsupported, "{}: {}: {} with an unknown member {}", key, member,
                  Excerpt(name), Excerpt(other));
    }
  }
  const Json& configuration = MemberOrNull(document, "configuration");
  if (configuration.is_null()) return extension;
  if (!configuration.is_object()) {
    return Fail(ErrorCode::kDamaged, "{}: {}: expected an object as configuration of {}, found {}",
                key, member, Excerpt(name), Excerpt(configuration));
  }
  extension.configuration = configuration;
  return extension;
}

// A list of extents, all < 2^63.
Result<std::vector<uint64_t>> ParseExtents(const Json& document, std::string_view key,
                                           std::string_view member) {
  if (!document.is_array()) {
    return Fail(ErrorCode::kDamaged, "{}: {}: expected a list of integers, found {}", key, member,
                Excerpt(document));
  }
  if (document.size() > kMaxRank) {
    return Fail(ErrorCode::kUnsupported, "{}: {}: expected at most {} dimensions, found {}", key,
                member, kMaxRank, document.size());
  }
  std::vector<uint64_t> extents;
  for (const Json& element : document) {
    const auto extent = ToUnsigned(element);
    if (!extent || *extent > kMaxExtent) {
      return Fail(ErrorCode::kDamaged, "{}: {}: expected integers from 0 to 2^63-1, found {}", key,
                  member, Excerpt(element));
    }
    extents.push_back(*extent);
  }
  return extents;
}

Result<std::vector<uint64_t>> ParseChunkShape(const Json& document,
                                              const std::vector<uint64_t>& shape,
                                              std::string_view key) {
  const auto grid = ParseExtension(document, key, "chunk_grid");
  if (!grid) return Fail(grid);
  if (grid->name != "regular") {
    return Fail(ErrorCode::kUnsupported, "{}: chunk grid '{}' is not known, only 'regular'", key,
                InQuotes(grid->name));
  }
  auto chunk_shape =
      ParseExtents(MemberOrNull(grid->configuration, "chunk_shape"), key, "chunk_shape");
  if (!chunk_shape) return Fail(chunk_shape);
  if (chunk_shape->size() != shape.size()) {
    return Fail(ErrorCode::kDamaged,
                "{}: chunk_shape: expected {} dimensions as in shape, found {}", key, shape.size(),
                chunk_shape->size());
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    uint64_t& extent = (*chunk_shape)[i];
    if (extent == 0 && shape[i] != 0) {
      return Fail(ErrorCode::kDamaged, "{}: chunk_shape: expected at least 1, found 0", key);
    }
    extent = std::max<uint64_t>(extent, 1);
  }
  return chunk_shape;
}

Result<ChunkKeyEncoding> ParseChunkKeyEncoding(const Json& document, std::string_view key) {
  constexpr std::string_view kMember = "chunk_key_encoding";
  const auto named = ParseExtension(document, key, kMember, "separator");
  if (!named) return Fail(named);
  ChunkKeyEncoding encoding;
  if (named->name == "v2") {
    encoding = {ChunkKeyEncoding::Kind::kV2, '.'};
  } else if (named->name != "default") {
    return Fail(ErrorCode::kUnsupported,
                "{}: chunk key encoding '{}' is not known, only 'default' and 'v2'", key,
                InQuotes(named->name));
  }
  const Json* separator = &MemberOrNull(named->configuration, "separator");
  if (separator->is_null() && document.is_object()) {
    separator = &MemberOrNull(document, "separator");
  }
  if (separator->is_null()) return encoding;
  if (*separator != "/" && *separator != ".") {
    return Fail(ErrorCode::kDamaged, "{}: {}: expected separator \"/\" or \".\", found {}", key,
                kMember, Excerpt(*separator));
  }
  encoding.separator = separator->get_ref<const std::string&>()[0];
  return encoding;
}

Result<std::optional<std::vector<std::optional<std::string>>>> ParseDimensionNames(
    const Json& document, size_t rank, std::string_view key) {
  if (document.is_null()) return std::nullopt;
  const auto is_name = [](const Json& element) {
    return element.is_null() || (element.is_string() && !NonFinite(element));
  };
  if (!document.is_array() || document.size() != rank ||
      !std::all_of(document.begin(), document.end(), is_name)) {
    return Fail(ErrorCode::kDamaged,
                "{}: dimension_names: expected a list of {} strings or nulls, found {}", key, rank,
                Excerpt(document));
  }
  std::vector<std::optional<std::string>> names;
  for (const Json& element : document) {
    names.push_back(element.is_null() ? std::nullopt : std::optional(element.get<std::string>()));
  }
  return names;
}

// Bad attributes are no reason to hide the node, or the nodes below it.
Json TakeAttributes(Json& document, std::string_view key, std::vector<std::string>& notes) {
  const Json& attributes = MemberOrNull(document, "attributes");
  if (attributes.is_null()) return Json::object();
  if (!attributes.is_object()) {
    notes.push_back(fmt::format("{}: attributes are left out: expected an object, found {}", key,
                                Excerpt(attributes)));
    document["attributes"] = Json::object();
  }
  return document["attributes"];
}

// Core specification, "must_understand": unknown members may be skipped only if this is false.
Result<void> CheckMembers(const Json& document, std::span<const std::string_view> known,
                          std::string_view key) {
  for (const auto& [member, value] : document.items()) {
    // Drafts had a list of extensions; an empty one is harmless.
    const bool is_meant = member != "extensions" || (value.is_array() && value.empty());
    if (is_meant && std::find(known.begin(), known.end(), member) != known.end()) continue;
    if (value.is_object() && MemberOrNull(value, "must_understand") == false) continue;
    return Fail(ErrorCode::kUnsupported,
                "{}: {}: unknown member without \"must_understand\": false, found {}", key,
                Excerpt(member), Excerpt(value));
  }
  const Json& transformers = MemberOrNull(document, "storage_transformers");
  if (transformers.is_null()) return {};
  if (!transformers.is_array()) {
    return Fail(ErrorCode::kDamaged, "{}: storage_transformers: expected a list, found {}", key,
                Excerpt(transformers));
  }
  if (!transformers.empty()) {
    return Fail(ErrorCode::kUnsupported, "{}: storage_transformers: expected none, found {}", key,
                Excerpt(transformers));
  }
  return {};
}

// Everything after this may multiply extents without a check of its own: the elements of the array,
// and elements and bytes of one outer chunk.
Result<void> CheckSizes(const ArrayMetadata& array, std::string_view key) {
  std::vector<uint64_t> counted = array.shape;
  for (uint64_t& extent : counted) extent = std::max<uint64_t>(extent, 1);
  if (!CheckedProduct(counted)) {
    return Fail(ErrorCode::kUnsupported, "{}: shape: expected at most 2^64-1 elements, found {}",
                key, fmt::join(array.shape, " x "));
  }
  const auto elements = CheckedProduct(array.chunk_shape);
  const auto bytes =
      elements ? CheckedMul(*elements, std::max<size_t>(array.data_type.item_size, 1)) : elements;
  if (!bytes || *bytes > kMaxExtent) {
    return Fail(ErrorCode::kUnsupported,
                "{}: chunk_shape: expected chunks of less than 2^63 bytes, found {} elements of {}",
                key, fmt::join(array.chunk_shape, " x "), Excerpt(array.data_type.name));
  }
  return {};
}

Result<NodeMetadata> ParseGroup(Json document, std::string_view key) {
  if (const auto checked = CheckMembers(document, kGroupMembers, key); !checked) {
    return Fail(checked);
  }
  GroupMetadata group;
  group.attributes = TakeAttributes(document, key, group.notes);
  group.consolidated_metadata = MemberOrNull(document, "consolidated_metadata");
  group.document = std::move(document);
  return group;
}

Result<NodeMetadata> ParseArray(Json document, std::string_view key) {
  if (const auto checked = CheckMembers(document, kArrayMembers, key); !checked) {
    return Fail(checked);
  }
  for (const char* member : {"shape", "data_type", "chunk_grid", "chunk_key_encoding"}) {
    if (!document.contains(member)) {
      return Fail(ErrorCode::kDamaged, "{}: expected a member {}, found none", key, member);
    }
  }
  ArrayMetadata array;
  auto shape = ParseExtents(document["shape"], key, "shape");
  if (!shape) return Fail(shape);
  array.shape = *std::move(shape);

  auto data_type = ParseDataType(document["data_type"], key);
  if (!data_type) return Fail(data_type);
  array.data_type = *std::move(data_type);

  auto chunk_shape = ParseChunkShape(document["chunk_grid"], array.shape, key);
  if (!chunk_shape) return Fail(chunk_shape);
  array.chunk_shape = *std::move(chunk_shape);
  if (const auto checked = CheckSizes(array, key); !checked) return Fail(checked);

  const auto key_encoding = ParseChunkKeyEncoding(document["chunk_key_encoding"], key);
  if (!key_encoding) return Fail(key_encoding);
  array.key_encoding = *key_encoding;

  auto fill_value = ParseFillValue(MemberOrNull(document, "fill_value"), array.data_type, key);
  if (!fill_value) return Fail(fill_value);
  array.fill_value = *std::move(fill_value);

  if (document.contains("codecs")) {
    auto codecs = ParseCodecs(document["codecs"], key);
    if (!codecs) return Fail(codecs);
    array.codecs = *std::move(codecs);
  }
  if (array.codecs.empty()) array.codecs.push_back(CodecSpec{"bytes", {{"endian", "little"}}});

  array.attributes = TakeAttributes(document, key, array.notes);

  auto names = ParseDimensionNames(MemberOrNull(document, "dimension_names"), array.rank(), key);
  if (!names) return Fail(names);
  array.dimension_names = *std::move(names);
  array.document = std::move(document);
  return array;
}

}  // namespace

Json ToJson(const std::vector<CodecSpec>& codecs) {
  Json list = Json::array();
  for (const CodecSpec& codec : codecs) {
    Json& entry = list.emplace_back(Json::object());
    entry["name"] = codec.name;
    // Readers require the member for numcodecs' own codecs, even if it is empty.
    if (!codec.configuration.empty() || codec.name.starts_with("numcodecs."))
      entry["configuration"] = codec.configuration;
  }
  return list;
}

Result<std::vector<CodecSpec>> ParseCodecs(const Json& document, std::string_view key) {
  if (!document.is_array()) {
    return Fail(ErrorCode::kDamaged, "{}: codecs: expected a list, found {}", key,
                Excerpt(document));
  }
  std::vector<CodecSpec> codecs;
  for (const Json& element : document) {
    auto codec = ParseExtension(element, key, "codecs");
    if (!codec) return Fail(codec);
    if (codec->name == "endian") codec->name = "bytes";
    // (For single bytes, the byte order is null.)
    if (codec->name == "bytes" && MemberOrNull(codec->configuration, "endian").is_null()) {
      codec->configuration.erase("endian");
    }
    codecs.push_back(CodecSpec{std::move(codec->name), std::move(codec->configuration)});
  }
  return codecs;
}

Result<NodeMetadata> ParseZarrJson(std::string_view text, std::string_view key) {
  if (text.size() > kMaxMetadataBytes) {
    return Fail(ErrorCode::kTooLarge, "{}: expected at most {} bytes, found {}", key,
                kMaxMetadataBytes, text.size());
  }
  std::vector<std::string> notes;
  auto document = ParseJson(text, key, notes);
  if (!document) return Fail(document);
  auto node = ParseZarrDocument(*std::move(document), key);
  if (!node) return node;
  std::visit(
      [&](auto& metadata) {
        metadata.notes.insert(metadata.notes.begin(), notes.begin(), notes.end());
      },
      *node);
  return node;
}

Result<NodeMetadata> ParseZarrDocument(Json document, std::string_view key) {
  if (!document.is_object()) {
    return Fail(ErrorCode::kDamaged, "{}: expected an object, found {}", key, Excerpt(document));
  }
  const Json& format = MemberOrNull(document, "zarr_format");
  if (ToUnsigned(format) != uint64_t{3}) {
    // Drafts had a URL here.
    const bool is_other = (format.is_number() || format.is_string()) && !NonFinite(format);
    return Fail(is_other ? ErrorCode::kUnsupported : ErrorCode::kDamaged,
                "{}: zarr_format: expected 3, found {}", key, Excerpt(format));
  }
  const Json& node_type = MemberOrNull(document, "node_type");
  if (node_type == "array") return ParseArray(std::move(document), key);
  if (node_type == "group") return ParseGroup(std::move(document), key);
  return Fail(ErrorCode::kDamaged, "{}: node_type: expected \"array\" or \"group\", found {}", key,
              Excerpt(node_type));
}

}  // namespace zarrfs
