// Parses zarr.json of arrays and groups into immutable values.
//
// Reads documents of the core specification 3.1, and the older spellings found in real stores:
// missing or empty codecs, "endian" for "bytes", short-hand strings, a separator next to the name,
// empty storage_transformers and extensions. Refuses documents that it would misread. These are
// documents with unknown top-level members, except objects with must_understand false; with storage
// transformers; with chunk grids other than regular and rectilinear; with shapes whose element
// count overflows 64 bits; and with outer chunks of 2^63 bytes or more.
//
// Invalid attributes never hide a node. They are dropped if they are not an object, and invalid
// strings in them are repaired (ParseJson in json.h), with a note.
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

inline constexpr uint64_t kMaxMetadataBytes = 64u << 20;  // per document
inline constexpr size_t kMaxRank = 32;
/// Maximum number of codecs in a chain. Each codec processes the whole chunk.
inline constexpr size_t kMaxCodecs = 64;

/// This program's own codec for Zarr v2 structs whose fields have different byte orders. v3 has no
/// codec for such structs.
inline constexpr std::string_view kMixedEndian = "zarrfs.mixed_endian";

/// One codec of a chain. A short-hand string is a name with an empty configuration. "endian" is
/// renamed to "bytes".
struct CodecSpec {
  std::string name;
  Json configuration = Json::object();
  bool operator==(const CodecSpec&) const = default;

  /// The name without the prefix "numcodecs.".
  [[nodiscard]] std::string_view plain_name() const {
    constexpr std::string_view kPrefix = "numcodecs.";
    return std::string_view(name).substr(name.starts_with(kPrefix) ? kPrefix.size() : 0);
  }
};

/// Returns a codec chain as JSON: {"name": …, "configuration": {…}} for each codec. An empty
/// configuration is omitted, except for numcodecs.*.
[[nodiscard]] Json ToJson(const std::vector<CodecSpec>& codecs);

/// Parses the member "codecs": a list of objects and short-hand strings. Keeps unknown codecs, even
/// with must_understand false; decoding fails later. kDamaged if it is not a list of codecs;
/// kUnsupported for unknown members, and for more than kMaxCodecs codecs.
[[nodiscard]] Result<std::vector<CodecSpec>> ParseCodecs(const Json& document,
                                                         std::string_view key);

/// How chunk keys are formed from chunk coordinates. See core specification, "Chunk key encoding".
struct ChunkKeyEncoding {
  enum class Kind { kDefault, kV2 };
  Kind kind = Kind::kDefault;
  char separator = '/';  // '/' or '.'
  /// True if the Zarr v2 metadata do not state the separator, and no stored chunk has revealed it
  /// yet. Chunk keys may then have either separator.
  bool is_undecided = false;
  std::string suffix = {};  // appended to each key: zarr-extensions, "suffix"
  bool operator==(const ChunkKeyEncoding&) const = default;
};

/// The stored documents of a node, byte for byte, so a view can pass them through.
struct StoredDocuments {
  bool is_v2 = false;
  std::string document;               // zarr.json, .zarray or .zgroup
  std::optional<std::string> zattrs;  // v2: the contents of .zattrs, if it exists
  bool has_zmetadata = false;         // v2: true if the group has a .zmetadata
};

struct ArrayMetadata {
  std::vector<uint64_t> shape;
  DataType data_type;
  /// The shape of the outermost chunks, which are shards if the array is sharded. It has the same
  /// rank as `shape` and contains no 0: a 0 is read as 1 if the array's dimension is empty, as in
  /// real stores, and is kDamaged otherwise. If the chunks differ in shape, this is the maximum
  /// chunk length along each axis.
  std::vector<uint64_t> chunk_shape;
  /// The chunk lengths along each axis, for a "rectilinear" grid whose chunks differ in shape.
  /// Otherwise empty.
  std::vector<std::vector<EdgeRun>> chunk_edges;
  ChunkKeyEncoding key_encoding;
  FillBytes fill_value;  // one element, little-endian; empty for DataKind::kOther
  // True if the contents of missing chunks are undefined. The "fill_value" in v2 is then null.
  bool undefined_fill = false;
  // The codec chain. Never empty: an absent or empty list in zarr.json means "bytes",
  // little-endian.
  std::vector<CodecSpec> codecs;
  Json attributes = Json::object();
  /// One name per dimension, or nullopt where the document has null. Absent if the dimensions have
  /// no names.
  std::optional<std::vector<std::optional<std::string>>> dimension_names;
  /// The whole zarr.json as read. Views derive their own documents from it.
  Json document;
  /// For users: one sentence for each part of the documents that was dropped or replaced, beginning
  /// with the key of the document.
  std::vector<std::string> notes;
  /// The documents from which the metadata were parsed. Null if the array was not read from a
  /// store.
  std::shared_ptr<const StoredDocuments> stored;
  /// If set, only shape, chunk_shape, key_encoding and `stored` are usable, for the reason given by
  /// the error; see ParseZarrayGrid().
  std::optional<Error> grid_only;

  /// True if the stored documents are in the format of Zarr v2.
  [[nodiscard]] bool is_stored_as_v2() const { return stored != nullptr && stored->is_v2; }
  [[nodiscard]] size_t rank() const { return shape.size(); }
};

struct GroupMetadata {
  Json attributes = Json::object();
  /// The JSON type of the member consolidated_metadata, whose contents are dropped: the documents
  /// of the nodes themselves are authoritative.
  Json::value_t consolidated_metadata = Json::value_t::null;
  Json document;
  std::vector<std::string> notes;  // see ArrayMetadata::notes
  /// The stored documents. Null if no document of the group is stored.
  std::shared_ptr<const StoredDocuments> stored;

  [[nodiscard]] bool is_stored_as_v2() const { return stored != nullptr && stored->is_v2; }
};

using NodeMetadata = std::variant<GroupMetadata, ArrayMetadata>;

/// Parses a zarr.json. `key` is used in error messages.
/// kDamaged: not JSON, or members are missing or have a wrong type or value. kUnsupported: valid,
/// but with unknown extensions that must be understood. kTooLarge: longer than kMaxMetadataBytes,
/// or more than kMaxJsonValues values.
[[nodiscard]] Result<NodeMetadata> ParseZarrJson(std::string_view text, std::string_view key);

/// Like ParseZarrJson(), for a document that is already parsed.
[[nodiscard]] Result<NodeMetadata> ParseZarrDocument(Json document, std::string_view key);

}  // namespace zarrfs
