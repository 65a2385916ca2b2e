#include "zarrcore/metadata/metadata.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kArrayMembers = {
    "zarr_format"sv, "node_type"sv,          "shape"sv,      "data_type"sv,
    "chunk_grid"sv,  "chunk_key_encoding"sv, "fill_value"sv, "codecs"sv,
    "attributes"sv,  "dimension_names"sv,    "extensions"sv, "storage_transformers"sv,
};
constexpr std::array kGroupMembers = {
    "zarr_format"sv, "node_type"sv, "attributes"sv, "consolidated_metadata"sv, "extensions"sv,
};

// A printable excerpt of `name`, without the quotes that Excerpt() adds.
std::string InQuotes(const std::string& name) {
  std::string excerpt = Excerpt(name).substr(1);
  if (excerpt.ends_with('"')) excerpt.pop_back();
  return excerpt;
}

std::optional<uint64_t> ToUnsigned(const Json& json) {
  return ParseInteger(json, 64, /*is_signed=*/false);
}

// Parses an extension: a name, or an object with name and configuration. See core specification,
// "Extension definition". `also`: an additional allowed member, which old writers put next to the
// name.
Result<CodecSpec> ParseExtension(const Json& document, std::string_view key,
                                 std::string_view member, std::string_view also = "name") {
  const Json& name = document.is_object() ? MemberOrNull(document, "name") : document;
  const std::string* const text = TextOf(name);
  if (text == nullptr || text->empty()) {
    return Fail(ErrorCode::kDamaged, "{}: {}: expected a name or an object with a name, found {}",
                key, member, Excerpt(document));
  }
  CodecSpec extension{*text};
  // An unknown member is an error, because it may change the meaning, as in {"name": "bytes",
  // "endian": "big"}.
  if (const auto unknown =
          UnknownMember(document, {"name", "configuration", "must_understand", also})) {
    return Fail(ErrorCode::kUnsupported, "{}: {}: {} with an unknown member {}", key, member,
                Excerpt(name), Excerpt(*unknown));
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

// Parses a list of extents, all below 2^63.
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

tl::unexpected<Error> WrongRank(std::string_view key, std::string_view member, size_t expected,
                                size_t found) {
  return Fail(ErrorCode::kDamaged, "{}: {}: expected {} dimensions as in shape, found {}", key,
              member, expected, found);
}

Result<void> ParseRegularGrid(const Json& configuration, std::string_view key,
                              ArrayMetadata& array) {
  auto chunk_shape = ParseExtents(MemberOrNull(configuration, "chunk_shape"), key, "chunk_shape");
  if (!chunk_shape) return Fail(chunk_shape);
  if (chunk_shape->size() != array.rank()) {
    return WrongRank(key, "chunk_shape", array.rank(), chunk_shape->size());
  }
  for (size_t i = 0; i < array.rank(); ++i) {
    uint64_t& extent = (*chunk_shape)[i];
    if (extent == 0 && array.shape[i] != 0) {
      return Fail(ErrorCode::kDamaged, "{}: chunk_shape: expected at least 1, found 0", key);
    }
    extent = std::max<uint64_t>(extent, 1);
  }
  array.chunk_shape = *std::move(chunk_shape);
  return {};
}

Result<void> ParseRectilinearGrid(const Json& configuration, std::string_view key,
                                  ArrayMetadata& array) {
  const Json& kind = MemberOrNull(configuration, "kind");
  if (kind != "inline") {
    return Fail(TextOf(kind) != nullptr ? ErrorCode::kUnsupported : ErrorCode::kDamaged,
                "{}: chunk grid 'rectilinear': kind: expected \"inline\", found {}", key,
                Excerpt(kind));
  }
  const Json& shapes = MemberOrNull(configuration, "chunk_shapes");
  if (!shapes.is_array()) {
    return Fail(ErrorCode::kDamaged, "{}: chunk_shapes: expected a list, found {}", key,
                Excerpt(shapes));
  }
  if (shapes.size() != array.rank()) {
    return WrongRank(key, "chunk_shapes", array.rank(), shapes.size());
  }
  size_t runs = 0;
  for (size_t d = 0; d < array.rank(); ++d) {
    auto edges = ParseChunkEdges(shapes[d], array.shape[d], key);
    if (!edges) return Fail(edges);
    runs += edges->size();
    if (runs > kMaxEdgeRuns + array.rank()) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: chunk_shapes: expected at most {} changes of the length, found more", key,
                  kMaxEdgeRuns);
    }
    array.chunk_shape.push_back(std::ranges::max_element(*edges, {}, &EdgeRun::length)->length);
    array.chunk_edges.push_back(*std::move(edges));
  }
  if (runs == array.rank()) array.chunk_edges.clear();
  return {};
}

Result<void> ParseChunkGrid(const Json& document, std::string_view key, ArrayMetadata& array) {
  const auto grid = ParseExtension(document, key, "chunk_grid");
  if (!grid) return Fail(grid);
  if (grid->name == "regular") return ParseRegularGrid(grid->configuration, key, array);
  if (grid->name == "rectilinear") return ParseRectilinearGrid(grid->configuration, key, array);
  return Fail(ErrorCode::kUnsupported,
              "{}: chunk grid '{}' is not known, only 'regular' and 'rectilinear'", key,
              InQuotes(grid->name));
}

constexpr size_t kMaxSuffix = 64;

// Parses the suffix of chunk keys. The checks ensure that no chunk key equals the name of a folder
// or document.
Result<std::string> ParseKeySuffix(const Json& suffix, std::string_view key) {
  const std::string* const text = TextOf(suffix);
  const bool is_name = text != nullptr && !text->empty() && text->size() <= kMaxSuffix &&
                       text->find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  if (is_name) return *text;
  return Fail(ErrorCode::kUnsupported,
              "{}: chunk_key_encoding: expected a suffix of 1 to {} bytes without \"/\", found {}",
              key, kMaxSuffix, Excerpt(suffix));
}

Result<ChunkKeyEncoding> ParseChunkKeyEncoding(const Json& document, std::string_view key) {
  constexpr std::string_view kMember = "chunk_key_encoding";
  const auto named = ParseExtension(document, key, kMember, "separator");
  if (!named) return Fail(named);
  ChunkKeyEncoding encoding;
  const Json& suffix = MemberOrNull(named->configuration, "suffix");
  if (named->name == "suffix") {
    // The specification spells this member both "base-encoding" and "base_encoding".
    const Json* base = &MemberOrNull(named->configuration, "base-encoding");
    if (base->is_null()) base = &MemberOrNull(named->configuration, "base_encoding");
    auto before = base->is_null() ? encoding : ParseChunkKeyEncoding(*base, key);
    if (!before) return before;
    auto text = before->suffix.empty() ? ParseKeySuffix(suffix, key)
                                       // Fail, because the base encoding has a suffix.
                                       : ParseKeySuffix(Json(), key);
    if (!text) return Fail(text);
    before->suffix = *std::move(text);
    return before;
  }
  if (named->name == "v2") {
    encoding = {ChunkKeyEncoding::Kind::kV2, '.'};
  } else if (named->name == "zarrs.default_suffix") {
    auto text = ParseKeySuffix(suffix, key);
    if (!text) return Fail(text);
    encoding.suffix = *std::move(text);
  } else if (named->name != "default") {
    return Fail(ErrorCode::kUnsupported,
                "{}: chunk key encoding '{}' is not known, only 'default', 'v2' and 'suffix'", key,
                InQuotes(named->name));
  }
  const Json* separator = &MemberOrNull(named->configuration, "separator");
  if (separator->is_null()) separator = &MemberOrNull(document, "separator");
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
  const auto is_name = [](const Json& element) { return element.is_null() || TextOf(element); };
  if (!document.is_array() || document.size() != rank || !std::ranges::all_of(document, is_name)) {
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

// Returns the attributes of `document`. Replaces invalid attributes with an empty object, so they
// do not hide the node or the nodes below it.
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

// Refuses unknown members, except objects with must_understand false. See core specification,
// "must_understand".
Result<void> CheckMembers(const Json& document, std::span<const std::string_view> known,
                          std::string_view key) {
  for (const auto& [member, value] : document.items()) {
    // The list "extensions", from drafts of the specification, is known only if it is empty.
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

// Refuses arrays whose sizes overflow. Other code multiplies the extents of the array and of an
// outer chunk, and the bytes of an outer chunk, without checking again.
Result<void> CheckSizes(const ArrayMetadata& array, std::string_view key) {
  std::vector<uint64_t> counted = array.shape;
  for (uint64_t& extent : counted) extent = std::max<uint64_t>(extent, 1);
  if (!CheckedProduct(counted)) {
    return Fail(ErrorCode::kUnsupported, "{}: shape: expected at most 2^64-1 elements, found {}",
                key, fmt::join(array.shape, " x "));
  }
  const auto bytes =
      CheckedProduct(array.chunk_shape, std::max<size_t>(array.data_type.item_size, 1));
  if (bytes.value_or(UINT64_MAX) > kMaxExtent) {
    return Fail(ErrorCode::kUnsupported,
                "{}: chunk_shape: expected chunks of less than 2^63 bytes, found {} elements of {}",
                key, fmt::join(array.chunk_shape, " x "), Excerpt(array.data_type.name));
  }
  return {};
}

// Moves a parsed value into the variable `place`, or returns the error.
template <typename T>
Result<void> Take(Result<T> parsed, T& place) {
  if (!parsed) return Fail(parsed);
  place = *std::move(parsed);
  return {};
}

Result<NodeMetadata> ParseGroup(Json document, std::string_view key) {
  if (const auto checked = CheckMembers(document, kGroupMembers, key); !checked) {
    return Fail(checked);
  }
  GroupMetadata group;
  group.attributes = TakeAttributes(document, key, group.notes);
  group.consolidated_metadata = MemberOrNull(document, "consolidated_metadata").type();
  document.erase("consolidated_metadata");
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
  auto taken = Take(ParseExtents(document["shape"], key, "shape"), array.shape);
  if (taken) taken = Take(ParseDataType(document["data_type"], key), array.data_type);
  if (taken) taken = ParseChunkGrid(document["chunk_grid"], key, array);
  if (taken) taken = CheckSizes(array, key);
  if (taken) {
    taken = Take(ParseChunkKeyEncoding(document["chunk_key_encoding"], key), array.key_encoding);
  }
  const auto member = [&](const char* name) -> const Json& { return MemberOrNull(document, name); };
  if (taken) {
    taken = Take(ParseFillValue(member("fill_value"), array.data_type, key), array.fill_value);
  }
  if (taken && document.contains("codecs")) {
    taken = Take(ParseCodecs(document["codecs"], key), array.codecs);
  }
  if (taken) {
    taken = Take(ParseDimensionNames(member("dimension_names"), array.rank(), key),
                 array.dimension_names);
  }
  if (!taken) return Fail(taken);
  if (array.codecs.empty()) array.codecs.push_back(CodecSpec{"bytes", {{"endian", "little"}}});
  array.attributes = TakeAttributes(document, key, array.notes);
  array.document = std::move(document);
  return array;
}

}  // namespace

Json ToJson(const std::vector<CodecSpec>& codecs) {
  Json list = Json::array();
  for (const CodecSpec& codec : codecs) {
    Json& entry = list.emplace_back(Json::object());
    entry["name"] = codec.name;
    // Readers require numcodecs' own codecs to have a configuration, even an empty one.
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
  if (document.size() > kMaxCodecs) {
    return Fail(ErrorCode::kUnsupported, "{}: codecs: expected at most {} in a chain, found {}",
                key, kMaxCodecs, document.size());
  }
  std::vector<CodecSpec> codecs;
  for (const Json& element : document) {
    auto codec = ParseExtension(element, key, "codecs");
    if (!codec) return Fail(codec);
    if (codec->name == "endian") codec->name = "bytes";
    // For types of one byte, some writers set the codec's byte order to null.
    if (codec->name == "bytes" && MemberOrNull(codec->configuration, "endian").is_null()) {
      codec->configuration.erase("endian");
    }
    codecs.push_back(*std::move(codec));
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
    // In drafts of the specification, zarr_format was a URL.
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
