// zarr.json of arrays and groups as immutable values.
//
// Bad attributes never hide a node: they are dropped if they are not an object, and broken text in
// them is replaced (ParseJson in json.h), with a note.
//
// Reads the core specification 3.1 and the older spellings found in real stores (missing or empty
// codecs, "endian" for "bytes", short-hand strings, a separator next to the name, empty
// storage_transformers and extensions). Refuses what it would misread: unknown top-level fields
// unless they are objects with must_understand false, non-empty storage transformers, chunk grids
// other than regular and rectilinear, shapes whose element count overflows 64 bits, and outer
// chunks of 2^63 bytes or more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/chunk_edges.h"
#include "zarrcore/metadata/data_type.h"
#include "zarrcore/metadata/fill_value.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

inline constexpr uint64_t kMaxMetadataBytes = 64u << 20;  // per zarr.json
inline constexpr size_t kMaxRank = 32;
/// Maximum for one chain. Each codec decodes or copies the whole chunk.
inline constexpr size_t kMaxCodecs = 64;

/// Codec of structs in Zarr v2 whose fields have different byte orders: v3 has no name for it.
inline constexpr std::string_view kMixedEndian = "zarrfs.mixed_endian";

/// One element of a codec chain. A short-hand string is a name with an empty configuration.
/// "endian" is renamed to "bytes".
struct CodecSpec {
  std::string name;
  Json configuration = Json::object();
  bool operator==(const CodecSpec&) const = default;

  /// The name without "numcodecs.".
  [[nodiscard]] std::string_view plain_name() const {
    constexpr std::string_view kPrefix = "numcodecs.";
    return std::string_view(name).substr(name.starts_with(kPrefix) ? kPrefix.size() : 0);
  }
};

/// {"name": …, "configuration": {…}} (an empty configuration is omitted, except for numcodecs.*).
[[nodiscard]] Json ToJson(const std::vector<CodecSpec>& codecs);

/// Parses a "codecs" member: objects or short-hand strings. Keeps unknown codecs, even with
/// must_understand false: decoding will refuse them. kDamaged if it is not a list of codecs;
/// kUnsupported for unknown members, and for more than kMaxCodecs.
[[nodiscard]] Result<std::vector<CodecSpec>> ParseCodecs(const Json& document,
                                                         std::string_view key);

/// Core specification, "Chunk key encoding".
struct ChunkKeyEncoding {
  enum class Kind { kDefault, kV2 };
  Kind kind = Kind::kDefault;
  char separator = '/';  // '/' or '.'
  /// Zarr v2 metadata do not state the separator, and no object has shown it: keys may have either.
  bool is_undecided = false;
  std::string suffix = {};  // of each key: zarr-extensions, "suffix"
  bool operator==(const ChunkKeyEncoding&) const = default;
};

/// The documents of a node, byte for byte: a view may pass them through.
struct StoredDocuments {
  bool is_v2 = false;
  std::string document;               // zarr.json, .zarray or .zgroup
  std::optional<std::string> zattrs;  // v2: .zattrs, if it exists
  bool has_zmetadata = false;         // v2 group: .zmetadata exists
};

struct ArrayMetadata {
  std::vector<uint64_t> shape;
  DataType data_type;
  /// The shape of the outermost chunks (shards, if the array is sharded). Same rank as `shape`, all
  /// >= 1 (0 occurs in real stores: read as 1 if the dimension is empty, else kDamaged). If they
  /// differ in shape, the greatest length along each axis.
  std::vector<uint64_t> chunk_shape;
  /// For outermost chunks that differ in shape ("rectilinear"): their lengths along each axis.
  /// Empty if all have one shape, even in a "rectilinear" grid.
  std::vector<std::vector<EdgeRun>> chunk_edges;
  ChunkKeyEncoding key_encoding;
  FillBytes fill_value;           // little-endian element; empty for kOther
  bool undefined_fill = false;    // missing chunks are undefined: "fill_value": null in v2
  std::vector<CodecSpec> codecs;  // never empty: an absent list means [bytes, little endian]
  Json attributes = Json::object();
  /// Absent, or one name per dimension; null names are nullopt.
  std::optional<std::vector<std::optional<std::string>>> dimension_names;
  /// The whole zarr.json as read, from which views derive theirs.
  Json document;
  /// What was dropped or replaced in the documents: one sentence each, with the document's key.
  std::vector<std::string> notes;
  /// Null if the array was not read from a store.
  std::shared_ptr<const StoredDocuments> stored;
  /// Why only shape, chunk_shape, key_encoding and `stored` are usable; see ParseZarrayGrid().
  std::optional<Error> grid_only;

  /// Whether v2 readers get the stored files unchanged.
  [[nodiscard]] bool is_stored_as_v2() const { return stored != nullptr && stored->is_v2; }
  [[nodiscard]] size_t rank() const { return shape.size(); }
};

struct GroupMetadata {
  Json attributes = Json::object();
  /// The type of the member consolidated_metadata. Its content is not kept: the files take
  /// precedence.
  Json::value_t consolidated_metadata = Json::value_t::null;
  Json document;
  std::vector<std::string> notes;  // as for an array
  /// Null if the group has no document in the store.
  std::shared_ptr<const StoredDocuments> stored;

  [[nodiscard]] bool is_stored_as_v2() const { return stored != nullptr && stored->is_v2; }
};

using NodeMetadata = std::variant<GroupMetadata, ArrayMetadata>;

/// Parses the text of a zarr.json; `key` is for errors.
/// kDamaged: not JSON, or members missing or of the wrong type or value.
/// kUnsupported: valid, but with extensions that must be understood and are unknown here.
/// kTooLarge: longer than kMaxMetadataBytes or nested deeper than kMaxJsonDepth.
[[nodiscard]] Result<NodeMetadata> ParseZarrJson(std::string_view text, std::string_view key);

/// As ParseZarrJson() for a parsed document.
[[nodiscard]] Result<NodeMetadata> ParseZarrDocument(Json document, std::string_view key);

}  // namespace zarrfs
