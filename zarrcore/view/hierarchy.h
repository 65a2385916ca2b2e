// Hierarchy: the groups and arrays of a store, as each view shows them, as of now.
//
// A folder with a zarr.json is a node, else one with a .zarray (a Zarr v2 array) or a .zgroup (a v2
// group), whose attributes are in .zattrs; both formats may be mixed in one tree.
//
// Nodes are read when they are asked for; some thousands, those used last, are kept. Each answer
// says how old it may be. A node is an immutable snapshot: if one of its documents changes, the
// next sufficiently fresh answer is another snapshot. Snapshots of one array share a ChunkSource as
// long as where its chunks lie has not changed. Every member may be called from any thread.
#ifndef ZARRCORE_VIEW_HIERARCHY_H_
#define ZARRCORE_VIEW_HIERARCHY_H_

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/store/store.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

/// What one view shows of one node, or why it does not show it.
struct NodeView {
  std::vector<Document> documents;
  Digest fingerprint;  // of the documents: names and bytes
  /// Of a group: the name of the document that repeats those of all nodes below (Consolidated),
  /// which stands for the document of this name, if there is one; "" if the group has none.
  std::string consolidated;
  std::optional<ArrayView> array;  // documents are moved out of it
  std::optional<Error> hidden;     // the reason; everything else is empty then
};

inline constexpr std::string_view kZarrJson = "zarr.json";
inline constexpr std::string_view kZarray = ".zarray";
inline constexpr std::string_view kZgroup = ".zgroup";
inline constexpr std::string_view kZattrs = ".zattrs";
inline constexpr std::string_view kZmetadata = ".zmetadata";

/// A document that was looked for to read a node.
struct SourceDocument {
  std::string_view name;
  std::optional<Version> version;  // absent if there was none
};

struct Node {
  std::string path;                       // key of the folder; "" for the root
  std::optional<NodeMetadata> metadata;   // absent if its documents cannot be used
  std::string_view document = kZarrJson;  // that makes it a node: kZarrJson, kZarray or kZgroup
  std::vector<SourceDocument> sources;    // while they are the same, so is the node
  size_t source_bytes = 0;                // of all of them
  size_t bytes_in_memory = 0;             // roughly, of all of this
  bool implicit = false;                  // a group without a document, known by what lies below it
  bool below_ome = false;                 // this group or one above it is an OME one
  bool parent_below_ome = false;
  bool hot = false;  // so young that another version may look the same
  // Of the document (the version: of the source that changed last); of the folder, if implicit.
  ObjectInfo info;
  uint32_t attributes_mode = 0777;  // permissions of a .zattrs, for whatever says what it says
  ObjectInfo folder_info;           // of the folder, when the node was read
  std::array<NodeView, kMaxViews> views;  // by view number
  std::shared_ptr<ChunkSource> chunks;    // of an array whose layout can be used
  Digest chunks_fingerprint;              // of where they lie and what is in them

  mutable Freshness freshness;
  /// What its user has made of it, to be kept as long as this snapshot is. Not guarded.
  mutable std::shared_ptr<const void> companion;

  [[nodiscard]] bool is_v2() const { return document != kZarrJson; }
  /// Why its documents, which are there, cannot be read as what they are; null if they can, and if
  /// they say something that no view can show.
  [[nodiscard]] const Error* unreadable() const {
    const std::optional<Error>& reason = views[0].hidden;
    return !metadata && reason && reason->code != ErrorCode::kUnsupported ? &*reason : nullptr;
  }
  [[nodiscard]] const ArrayMetadata* array() const {
    return metadata ? std::get_if<ArrayMetadata>(&*metadata) : nullptr;
  }
  [[nodiscard]] const GroupMetadata* group() const {
    return metadata ? std::get_if<GroupMetadata>(&*metadata) : nullptr;
  }
  /// Of a v2 group: its consolidated document is made however many nodes lie below.
  [[nodiscard]] bool has_zmetadata() const {
    return group() != nullptr && group()->is_stored_as_v2() && group()->stored->has_zmetadata;
  }
};
using NodePtr = std::shared_ptr<const Node>;

/// What one view says in one document of a group and all nodes below it, as of now.
struct Consolidated {
  // Fingerprints of what it is made from: the group, and those nodes below that the view shows.
  std::vector<Digest> nodes;
  bool is_too_large = false;       // more nodes than HierarchyOptions say: the view does without
  uint64_t text_number = 0;        // texts of equal numbers are equal
  uint64_t size = 0;               // in bytes
  Version newest;                  // of what it is made from, the version that changed last
  std::vector<std::string> paths;  // of the nodes in it

  /// Whether its user took note of those nodes: who reads it goes straight to their chunks.
  mutable std::atomic<bool> is_known = false;
  mutable Freshness freshness;
};
using ConsolidatedPtr = std::shared_ptr<const Consolidated>;

/// What the dimensions of the arrays in the root group are called in one view, as of now.
struct RootDimensions {
  std::vector<ArrayDimensions> arrays;  // by name
  /// Absent where that cannot be known, or takes too long: each name carries its length.
  std::optional<SharedDimensions> names;
  Version newest;  // of what it is made from, the version that changed last

  mutable std::atomic<int64_t> take_ns = 0;  // that it took to make, or to look again
  mutable Freshness freshness;
};
using RootDimensionsPtr = std::shared_ptr<const RootDimensions>;

/// The document kSharedDocument of a node, as it is now.
struct SharedDocument {
  Digest node_fingerprint;       // of the documents of the node, and
  RootDimensionsPtr dimensions;  // what else it is made from
  uint64_t text_number = 0;      // of its bytes; texts of equal numbers are equal
  uint64_t size = 0;             // in bytes
  Version version;
};
using SharedDocumentPtr = std::shared_ptr<const SharedDocument>;

struct HierarchyOptions {
  size_t index_cache_bytes = 64u << 20;
  size_t node_cache_bytes = 32u << 20;  // about; of nodes that nobody holds
  size_t consolidated_max = 4096;       // nodes in a consolidated document; 0: make none
  char forced_separator = '\0';
  FillPolicy fill = FillPolicy::kAuto;
  OnSuperseded on_superseded = {};
  /// Called once for each property of the store that users may want to know and that is no fault,
  /// such as a type that one view does not have.
  Report on_note = {};
  /// The mount shows permissions to other users: a consolidated document repeats no node that is
  /// less open than its group.
  bool is_for_others = false;
};

class Hierarchy {
 public:
  Hierarchy(std::shared_ptr<const Store> store, HierarchyOptions options, Report report);

  /// kNotFound unless `path` is a group or array (or has documents that cannot be used: such a node
  /// is hidden in every view, with the reason). Whatever else keeps it from being read is another
  /// error: the node may be there.
  [[nodiscard]] Result<NodePtr> Get(const std::string& path, Age max_age) const;

  /// Whether `node` is known to be current, or was less than `max_age` ago.
  [[nodiscard]] bool IsFresh(const Node& node, Age max_age) const;

  /// Names of the nodes directly below a group, sorted, also those that are hidden or that cannot
  /// be read now. Empty for an array.
  /// `watched` becomes the change_count() of the store while which the answer, and each of the
  /// nodes, is current; 0 if that is not known.
  [[nodiscard]] Result<std::vector<std::string>> Children(const Node& node, Age max_age,
                                                          uint64_t* watched = nullptr) const;

  /// The consolidated document of a group in view number `view`, whose NodeView names one. Nodes
  /// that the store's permissions hide, and those less open than the group, are left out; any other
  /// node that cannot be read fails it.
  [[nodiscard]] Result<ConsolidatedPtr> Consolidate(const NodePtr& group, size_t view,
                                                    Age max_age) const;
  /// The same if it is known, else null; never asks the store.
  [[nodiscard]] ConsolidatedPtr KnownConsolidated(const Node& group, size_t view) const;
  /// The bytes of a group's consolidated document of this number; kStale if it has others now.
  [[nodiscard]] Result<std::shared_ptr<const std::string>> ConsolidatedText(
      const NodePtr& group, size_t view, uint64_t text_number) const;

  /// Whether that document, in view number `view`, is one that depends on the node's siblings.
  [[nodiscard]] static bool DependsOnSiblings(std::string_view path, size_t view, size_t document);
  /// Such a document. Where a sibling cannot be read, names carry their lengths.
  [[nodiscard]] Result<SharedDocumentPtr> ShareDimensions(const NodePtr& node, size_t view,
                                                          Age max_age) const;
  /// The bytes of such a document of this number; kStale if it has others now.
  [[nodiscard]] Result<std::shared_ptr<const std::string>> SharedText(const NodePtr& node,
                                                                      size_t view,
                                                                      uint64_t text_number) const;
  /// What was made last, or null; never asks the store.
  [[nodiscard]] RootDimensionsPtr KnownDimensions(size_t view) const;

  /// Whether view number `view` lists the node `name` below `parent`.
  [[nodiscard]] static bool Shows(const Node& child, std::string_view name, size_t view);

  [[nodiscard]] const Store& store() const { return *store_; }
  [[nodiscard]] CacheStatistics index_cache_statistics() const {
    return index_cache_->statistics();
  }
  /// From now on, instead of HierarchyOptions::index_cache_bytes.
  void SetIndexCacheSize(size_t bytes) { index_cache_->SetCapacity(bytes); }

 private:
  Result<std::shared_ptr<Node>> Load(const std::string& path, bool parent_below_ome,
                                     const NodePtr& before) const;
  // kNotFound if the folder has no document that makes it a node.
  Result<NodeMetadata> ReadMetadata(Node& node) const;
  // Nothing if there is no such document.
  Result<std::optional<std::string>> ReadSource(Node& node, std::string_view name) const;
  // Whether there is such a document, whatever it holds.
  Result<bool> HasSource(Node& node, std::string_view name) const;
  // Whether the store has what the node was made from.
  Result<bool> IsCurrent(const Node& node) const;
  // An error if there is none in what can be read, and something cannot.
  Result<bool> HasNodeBelow(const std::string& folder, int depth, int& budget) const;
  void FillArray(Node& node, const NodePtr& before) const;
  // Made anew, without a look at what is known, but for `known`: that one if it is the same.
  Result<ConsolidatedPtr> MakeConsolidated(const NodePtr& group, size_t view, Age max_age,
                                           const ConsolidatedPtr& known) const;
  // The number of a text, the same as before if the text is known.
  uint64_t TextNumber(std::string_view text) const;
  Result<RootDimensionsPtr> DimensionsOfRoot(size_t view, Age max_age) const;
  Result<void> FindRootDimensions(size_t view, Age max_age, RootDimensions& made,
                                  bool& is_watched) const;
  // Of `names`, those that arrays in groups below the root have. kTooLarge if there are more nodes
  // than `budget`.
  Result<std::set<std::string>> NamesBelow(std::vector<std::string> groups,
                                           const std::set<std::string>& names, size_t view,
                                           Age max_age, size_t budget, bool& is_watched) const;
  // Reports what is wrong with the node, once per version.
  void ReportOnce(const Node& node, const Error& reason) const;
  // The same for what is no fault.
  void Note(const Node& node, const Error& property) const;
  [[nodiscard]] bool IsFirst(const Node& node, const Error& message) const;
  // Why a consolidated document of `group` leaves out a node below; empty if it does not.
  [[nodiscard]] std::string WhyLeftOut(const Node& group, const Result<NodePtr>& below) const;
  // Tells of a node whose name keeps it out of a view, and of a folder below `group` that holds a
  // node but has a name that no node may have.
  void ReportName(const Node& node) const;
  Result<void> ReportRefusedName(const Node& group, const ListEntry& folder) const;

  const std::shared_ptr<const Store> store_;
  const HierarchyOptions options_;
  const Report report_;
  const std::shared_ptr<IndexCache> index_cache_;
  mutable LruCache<std::string, Node> nodes_;
  // The newest snapshot of each path, also once it is out of date: the next one is made from it.
  mutable LruCache<std::string, Node> newest_;
  mutable LruCache<std::string, Consolidated> consolidated_;  // by view and path
  mutable LruCache<uint64_t, std::string> texts_;             // by number
  mutable std::mutex text_numbers_mutex_;
  mutable std::unordered_map<Digest, uint64_t, DigestHash> text_numbers_;
  mutable uint64_t last_text_number_ = 0;
  mutable std::mutex dimensions_mutex_;
  mutable std::array<RootDimensionsPtr, kMaxViews> dimensions_;  // guarded by it
  mutable LruCache<std::string, SharedDocument> shared_;         // by view and path
  mutable std::mutex told_mutex_;
  mutable std::unordered_set<size_t> told_;  // hashes
};

}  // namespace zarrfs

#endif  // ZARRCORE_VIEW_HIERARCHY_H_
