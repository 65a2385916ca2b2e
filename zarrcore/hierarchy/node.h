// Node: a group or array of a store, as each view shows it. A Node is an immutable snapshot; after
// one of its documents changes, a new Node replaces it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

inline constexpr std::string_view kZarrJson = "zarr.json";
inline constexpr std::string_view kZarray = ".zarray";
inline constexpr std::string_view kZgroup = ".zgroup";
inline constexpr std::string_view kZattrs = ".zattrs";
inline constexpr std::string_view kZmetadata = ".zmetadata";

/// A node as one view shows it, or the reason why the view hides it.
struct NodeView {
  std::vector<Document> documents;
  /// A digest of the names and bytes of the documents, for comparison after the node was evicted.
  Digest documents_digest;
  /// For a group, the name of the document that contains the documents of all nodes below it
  /// (Consolidated); "" if the view makes none. It replaces a stored document of the same name.
  std::string consolidated;
  std::vector<std::string> notes;  // see GroupView::notes
  std::optional<ArrayView> array;  // without its documents
  /// True for strings that are shown as one chunk (ArrayView::has_texts); `array` is then absent.
  bool has_texts = false;
  std::optional<Error> hidden;  // why the view hides the node; all other members are then empty
};

/// A document that was looked up to make a node, with the version that was found.
struct SourceDocument {
  std::string_view name;
  std::optional<Version> version;  // nullopt if the document did not exist
};

/// Properties of the parent that decide how a node is shown.
struct FromParent {
  bool below_ome = false;         // true if the parent or an ancestor is an OME group
  std::vector<std::string> axes;  // see AxesIn04()
  bool operator==(const FromParent&) const = default;
};

/// The stored documents and the folder of a node, as they were when the node was read.
struct NodeSource {
  std::string path;  // the key of the folder; "" for the root
  // The document that makes the folder a node: kZarrJson, kZarray or kZgroup.
  std::string_view document = kZarrJson;
  // The documents that were read or found absent. The node is current while they are unchanged.
  std::vector<SourceDocument> sources;
  bool implicit = false;   // true for a group without a document, with nodes below it
  bool is_file = false;    // true for a file in an OME group, not a Zarr node; `path` is its key
  bool below_ome = false;  // true if this group or an ancestor is an OME group
  // True if a later version of the documents may be indistinguishable from this one. Revalidation
  // then reads the documents again.
  bool racy = false;
  FromParent from_parent;
  // The attributes of `document`, with the version of the document in `sources` that changed last.
  // For an implicit group, the attributes and version of its folder.
  ObjectInfo info;
  ObjectInfo folder_info;  // the attributes of the folder when the node was read
};

struct Node : NodeSource {
  MemoryBudget::Share memory;  // the reservation for bytes_in_memory; destroyed last
  uint64_t number = 0;  // the number of the snapshot, which increases with each snapshot of a path
  /// The parsed documents. kDamaged, kUnsupported or kTooLarge if they cannot be used; then every
  /// view hides the node.
  Result<NodeMetadata> metadata = Fail(ErrorCode::kUnsupported, "not read");
  size_t bytes_in_memory = 0;  // the approximate size of this object
  /// True if the node was made from consolidated metadata, and may be used only for listings; see
  /// hierarchy/consolidated_nodes.h.
  bool is_provisional = false;
  bool has_reports = false;  // true if a fault or a note about the node was reported
  // The mode of .zattrs. Documents that contain the attributes are at most as permissive.
  uint32_t attributes_mode = 0777;
  std::array<NodeView, kMaxViews> views;  // indexed by view number
  std::shared_ptr<ChunkSource> chunks;    // set for an array with a supported layout

  mutable Freshness freshness;  // set only by the cache that owns the node

  [[nodiscard]] bool is_v2() const { return document != kZarrJson; }
  /// The reason why the node's documents cannot be read, for example damage. Null if they can be
  /// read, even if no view supports their content.
  [[nodiscard]] const Error* unreadable() const {
    return !metadata && metadata.error().code != ErrorCode::kUnsupported ? &metadata.error()
                                                                         : nullptr;
  }
  /// The reason why no view can show the node. Null for a group, and for an array whose chunks can
  /// be found.
  [[nodiscard]] const Error* unusable() const {
    if (!metadata) return &metadata.error();
    return array() != nullptr && chunks == nullptr ? &*views[0].hidden : nullptr;
  }
  [[nodiscard]] const ArrayMetadata* array() const {
    return metadata ? std::get_if<ArrayMetadata>(&*metadata) : nullptr;
  }
  [[nodiscard]] const GroupMetadata* group() const {
    return metadata ? std::get_if<GroupMetadata>(&*metadata) : nullptr;
  }
  /// True for a v2 group with a stored .zmetadata.
  [[nodiscard]] bool has_zmetadata() const {
    return group() != nullptr && group()->is_stored_as_v2() && group()->stored->has_zmetadata;
  }
  /// True if the consolidated document in view number `view` replaces a stored .zmetadata. Such a
  /// document is made even if it has more nodes than HierarchyOptions::consolidated_max.
  [[nodiscard]] bool keeps_zmetadata(size_t view) const {
    return has_zmetadata() && AllViews()[view]->keeps_stored_v2();
  }
};
using NodePtr = std::shared_ptr<const Node>;

/// The metadata of an array that determine where its chunks are and how to decode them, as a
/// string. Arrays with the same path and equal strings have the same chunks. `without_rows`
/// excludes the length of axis 0, so appending along that axis changes neither the string nor the
/// numbers of chunks.
[[nodiscard]] std::string ChunksText(const ArrayMetadata& array, bool without_rows = false);

}  // namespace zarrfs
