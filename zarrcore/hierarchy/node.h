// Node: a group or array of a store, as each view shows it. An immutable snapshot: after a change
// of one of its documents, the next one is another Node.
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

/// One node in one view, or why the view hides it.
struct NodeView {
  std::vector<Document> documents;
  /// Names and bytes of the documents, for comparison with later ones after the node has been
  /// evicted.
  Digest documents_digest;
  /// The name of a group's document that repeats those of all nodes below (Consolidated), which
  /// replaces the stored document of this name, if any; "" if the group has none.
  std::string consolidated;
  std::vector<std::string> notes;  // GroupView::notes
  std::optional<ArrayView> array;  // without its documents
  bool has_texts = false;          // ArrayView::has_texts; there is no `array` then
  std::optional<Error> hidden;     // the reason; everything else is empty then
};

/// A document that was looked up to read a node.
struct SourceDocument {
  std::string_view name;
  std::optional<Version> version;  // nullopt if it did not exist
};

/// Properties of the parent that decide how a node is shown.
struct FromParent {
  bool below_ome = false;         // the parent or an ancestor is an OME group
  std::vector<std::string> axes;  // AxesIn04() of the node
  bool operator==(const FromParent&) const = default;
};

struct Node {
  MemoryBudget::Share memory;  // of bytes_in_memory, once it is read; destroyed last
  std::string path;            // key of the folder; "" for the root
  uint64_t number = 0;         // of the snapshot: increases with each snapshot of a path
  /// kDamaged, kUnsupported or kTooLarge if its documents cannot be used: then every view hides it.
  Result<NodeMetadata> metadata = Fail(ErrorCode::kUnsupported, "not read");
  std::string_view document = kZarrJson;  // makes it a node: kZarrJson, kZarray or kZgroup
  std::vector<SourceDocument> sources;    // the node is current while these are unchanged
  size_t bytes_in_memory = 0;             // approximate size of this object
  bool implicit = false;                  // a group without a document that has nodes below
  bool is_file = false;                   // not a Zarr node: a file in an OME group, at `path`
  bool below_ome = false;                 // this group or an ancestor is an OME group
  FromParent from_parent;
  /// Made from consolidated metadata (hierarchy/consolidated_nodes.h): only for listings.
  bool is_provisional = false;
  bool racy = false;  // a later version may look the same: revalidation rereads it
  // Of the document, with the version of the source that changed last; if implicit, of the folder.
  ObjectInfo info;
  uint32_t attributes_mode = 0777;        // of .zattrs; documents that repeat it are no more open
  ObjectInfo folder_info;                 // of the folder, when the node was read
  std::array<NodeView, kMaxViews> views;  // by view number
  std::shared_ptr<ChunkSource> chunks;    // of an array with a supported layout

  mutable Freshness freshness;  // set only by the cache that owns the node

  [[nodiscard]] bool is_v2() const { return document != kZarrJson; }
  /// Why its documents cannot be read (damaged, too large). Null if they can, even if no view
  /// supports their content.
  [[nodiscard]] const Error* unreadable() const {
    return !metadata && metadata.error().code != ErrorCode::kUnsupported ? &metadata.error()
                                                                         : nullptr;
  }
  /// Why no view can show it; null if it is a group, or an array with chunks.
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
  /// Whether its consolidated document is made regardless of the number of nodes: a v2 group that
  /// stores one.
  [[nodiscard]] bool has_zmetadata() const {
    return group() != nullptr && group()->is_stored_as_v2() && group()->stored->has_zmetadata;
  }
};
using NodePtr = std::shared_ptr<const Node>;

/// The metadata of an array that determine where its chunks lie and how to decode them, as text:
/// arrays at one path with equal texts have the same chunks. `without_rows`: excluding the extent
/// along axis 0, so that appending along it changes neither the text nor the numbers of chunks.
[[nodiscard]] std::string ChunksText(const ArrayMetadata& array, bool without_rows = false);

}  // namespace zarrfs
