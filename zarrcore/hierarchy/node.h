// Node: a group or array of a store, as each view shows it. An immutable snapshot: if one of its
// documents changes, the next one is another Node.
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

/// What one view shows of one node, or why it does not show it.
struct NodeView {
  std::vector<Document> documents;
  /// Names and bytes of the documents: they are compared with later ones when the node
  /// itself is no longer in memory.
  Digest documents_digest;
  /// The name of a group's document that repeats those of all nodes below (Consolidated),
  /// which stands for the document of this name, if there is one; "" if the group has none.
  std::string consolidated;
  std::vector<std::string> notes;  // GroupView::notes
  std::optional<ArrayView> array;  // documents are moved out of it
  bool has_texts = false;          // ArrayView::has_texts; there is no `array` then
  std::optional<Error> hidden;     // the reason; everything else is empty then
};

/// A document that was looked for to read a node.
struct SourceDocument {
  std::string_view name;
  std::optional<Version> version;  // absent if there was none
};

/// What of the group above decides how a node is shown.
struct FromParent {
  bool below_ome = false;         // it or one above it is an OME group
  std::vector<std::string> axes;  // AxesIn04() of the node
  bool operator==(const FromParent&) const = default;
};

struct Node {
  MemoryBudget::Share memory;  // bytes_in_memory, once it is read (the last to be destroyed)
  std::string path;            // key of the folder; "" for the root
  uint64_t number = 0;         // of the snapshot: later ones of the same path have greater ones
  /// kDamaged, kUnsupported or kTooLarge if its documents cannot be used: every view hides it then.
  Result<NodeMetadata> metadata = Fail(ErrorCode::kUnsupported, "not read");
  std::string_view document = kZarrJson;  // that makes it a node: kZarrJson, kZarray or kZgroup
  std::vector<SourceDocument> sources;    // while they are the same, so is the node
  size_t bytes_in_memory = 0;             // roughly, of all of this
  bool implicit = false;                  // a group without a document, known by what lies below it
  bool is_file = false;                   // no node of Zarr: a file in an OME group, at `path`
  bool below_ome = false;                 // this group or one above it is an OME one
  FromParent from_parent;
  /// Made of consolidated metadata (view/consolidated_nodes.h): for listings alone.
  bool is_provisional = false;
  bool racy = false;  // a later version may look the same: each revalidation reads it again
  // The document's (its version is that of the source that changed last); the folder's, if
  // implicit.
  ObjectInfo info;
  uint32_t attributes_mode = 0777;        // of .zattrs; documents that repeat it are no more open
  ObjectInfo folder_info;                 // of the folder, when the node was read
  std::array<NodeView, kMaxViews> views;  // by view number
  std::shared_ptr<ChunkSource> chunks;    // of an array whose layout can be used

  mutable Freshness freshness;  // set by the cache that keeps the node, and nobody else

  [[nodiscard]] bool is_v2() const { return document != kZarrJson; }
  /// Why its documents cannot be read (damaged, too large). Null if they can be read, even if no
  /// view supports what they say.
  [[nodiscard]] const Error* unreadable() const {
    return !metadata && metadata.error().code != ErrorCode::kUnsupported ? &metadata.error()
                                                                         : nullptr;
  }
  /// Why no view can show it, whatever the reason; null if it is a group, or an array with chunks.
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
  /// Its consolidated document is made however many nodes lie below: a v2 group that has one.
  [[nodiscard]] bool has_zmetadata() const {
    return group() != nullptr && group()->is_stored_as_v2() && group()->stored->has_zmetadata;
  }
};
using NodePtr = std::shared_ptr<const Node>;

/// What of an array's metadata says where its chunks lie and how to decode them, as text: arrays at
/// one path with equal texts have the same chunks. `without_rows`: but for the extent along axis 0,
/// so that it stays the same when the array is appended to there, as do the numbers of chunks.
[[nodiscard]] std::string ChunksText(const ArrayMetadata& array, bool without_rows = false);

}  // namespace zarrfs
