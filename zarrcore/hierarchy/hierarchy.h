// Hierarchy: the current groups and arrays of a store, as each view shows them.
//
// A folder with a zarr.json is a node, else one with a .zarray (a Zarr v2 array) or a .zgroup (a v2
// group), whose attributes are in .zattrs; both formats may be mixed in one tree.
//
// Nodes are read on demand, and cached within node_cache_bytes. Each caller says how old an answer
// may be. If a document of a node changes, the next sufficiently fresh answer is another snapshot.
// Successive snapshots of one array share a ChunkSource if the older one is still cached and the
// layout is the same.
//
// Every member may be called from any thread. A call may wait for the store; if the thread may not
// wait (base/waiting.h), it fails with kWouldBlock. Known…(), IsFresh() and Shows() never ask the
// store. No lock is held while the store is asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/hierarchy/assembled.h"
#include "zarrcore/hierarchy/consolidated_nodes.h"
#include "zarrcore/hierarchy/made_documents.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/hierarchy/node_reader.h"
#include "zarrcore/hierarchy/node_reports.h"
#include "zarrcore/store/revalidating_cache.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

class Hierarchy {
 public:
  /// `report`: called once per problem and version of a node, on the thread that finds it, without
  /// a lock.
  Hierarchy(std::shared_ptr<const Store> store, HierarchyOptions options, const Report& report);

  /// kNotFound unless `path` is a group or array (or has unusable documents: such a node is hidden
  /// in every view, with the reason). Any other failure to read it is another error: the node may
  /// exist.
  [[nodiscard]] Result<NodePtr> Get(const std::string& path, Age max_age) const;

  /// As Get(), for listings: if the store is behind a network, the consolidated metadata of an
  /// ancestor group may answer (Node::is_provisional). If a view hides the result, ask Get().
  [[nodiscard]] Result<NodePtr> GetListed(const std::string& path, Age max_age) const;

  /// Whether `node` is known to be current, or was checked less than `max_age` ago.
  [[nodiscard]] bool IsFresh(const Node& node, Age max_age) const {
    return node.freshness.IsFresh(*store_, max_age);
  }

  /// Names of the nodes directly below a group, sorted, including those that are hidden or cannot
  /// be read now. Empty for an array. The validity covers the names and each of the nodes.
  /// `listed`: as GetListed().
  [[nodiscard]] Result<Valid<std::vector<std::string>>> Children(const Node& node, Age max_age,
                                                                 bool listed = false) const;

  /// Names of the files next to the nodes of an OME group (Node::is_file), sorted; otherwise empty.
  /// As Children().
  [[nodiscard]] Result<Valid<std::vector<std::string>>> Files(const Node& node, Age max_age) const;

  /// Whether view number `view` lists the node `name` below its parent.
  [[nodiscard]] static bool Shows(const Node& child, std::string_view name, size_t view);

  // --- consolidated.cc ---

  /// The consolidated document of a group in view number `view`, whose NodeView names one. Nodes
  /// that the store's permissions hide, and those less open than the group, are omitted; any other
  /// node that cannot be read is an error.
  [[nodiscard]] Result<ConsolidatedPtr> Consolidate(const NodePtr& group, size_t view,
                                                    Age max_age) const;
  /// The cached document, else null; never asks the store.
  [[nodiscard]] ConsolidatedPtr KnownConsolidated(const Node& group, size_t view) const;
  /// The bytes of a group's consolidated document of this number; kStale if it has others now.
  [[nodiscard]] Result<MadeTexts::Text> ConsolidatedText(const NodePtr& group, size_t view,
                                                         uint64_t text_number) const;

  // --- shared_documents.cc ---

  /// Whether document number `document` of the node at `path` depends on other nodes: its siblings,
  /// or those of groups above.
  [[nodiscard]] static bool DependsOnSiblings(std::string_view path, size_t view, size_t document);
  /// Such a document, in its current version. In a view that shares dimensions, names carry their
  /// lengths if a sibling cannot be read. In one that places arrays it fails if a node that may
  /// name the coordinate system cannot be read. `text`, unless null, is set to its bytes.
  [[nodiscard]] Result<Valid<MadeDocument>> SharedDocument(const NodePtr& node, size_t view,
                                                           Age max_age,
                                                           MadeTexts::Text* text = nullptr) const;
  /// The bytes of such a document of this number; kStale if it has others now.
  [[nodiscard]] Result<MadeTexts::Text> SharedText(const NodePtr& node, size_t view,
                                                   uint64_t text_number) const;
  /// The latest cached value, or null; never asks the store.
  [[nodiscard]] RootDimensionsPtr KnownDimensions(size_t view) const;

  // --- placed_documents.cc ---

  /// The arrays below the group at `folder` whose SharedDocument() was made in a view that places
  /// arrays. Never asks the store.
  [[nodiscard]] std::vector<std::string> KnownPlaced(std::string_view folder) const {
    return placed_.Below(folder);
  }

  // --- hierarchy_files.cc, of views with a file_of() ---

  /// The name of the file that the view makes from the node at `path`, in the folder of the parent
  /// group; for the root, in the view's folder. It is the node's name and the suffix, with `_` in
  /// between if the name is taken.
  [[nodiscard]] Result<std::string> FileName(const std::string& path, size_t view,
                                             Age max_age) const;
  /// The node whose file has this name in the folder of the group at `folder`; nullopt if none has.
  [[nodiscard]] Result<std::optional<std::string>> PathOfFile(const std::string& folder,
                                                              size_t view, std::string_view name,
                                                              Age max_age) const;
  /// Whether the view makes a file (`file`), or a folder, from a node at `path`.
  [[nodiscard]] Result<bool> HasFileOrFolder(const std::string& path, size_t view, bool file,
                                             Age max_age) const;
  /// The file that the view makes from a node, or from the texts of an array (NodeView::has_texts).
  /// Fails if one of its source nodes cannot be read.
  [[nodiscard]] Result<AssembledPtr> Assemble(const NodePtr& node, size_t view, Age max_age) const;
  /// The latest cached file, or null; never asks the store.
  [[nodiscard]] AssembledPtr KnownFile(const Node& node, size_t view) const;

  // ---

  [[nodiscard]] const Store& store() const { return *store_; }
  [[nodiscard]] CacheStatistics index_cache_statistics() const {
    return reader_.index_cache().statistics();
  }
  /// Replaces HierarchyOptions::index_cache_bytes.
  void SetIndexCacheSize(size_t bytes) { reader_.index_cache().SetCapacity(bytes); }
  /// Drops an index larger than the whole cache if it was not used since the last call.
  void Sweep() { reader_.index_cache().SweepLatestLarge(); }

  // Memory is short: these evict `bytes`, or everything.
  void GiveUpTexts(size_t bytes) {
    texts_.GiveUp(bytes);
    assembled_.GiveUp(bytes);
  }
  void GiveUpIndexes(size_t bytes) { reader_.index_cache().GiveUp(bytes); }
  void GiveUpNodes(size_t bytes) {
    nodes_.GiveUp(bytes);
    newest_.GiveUp(bytes);
    listed_.GiveUp(bytes);
  }

 private:
  using NodeCache = RevalidatingCache<std::string, Node>;
  using ConsolidatedCache = RevalidatingCache<std::string, Consolidated>;
  using DimensionsCache = RevalidatingCache<size_t, RootDimensions>;
  using AssembledCache = RevalidatingCache<std::string, Assembled>;
  using ListedCache = RevalidatingCache<std::string, ConsolidatedNodes>;
  class NodeLoader;
  class ListedLoader;
  template <typename Cache>
  class Remaker;

  // Reports a folder below `group` that holds a node but has a name not allowed for nodes.
  [[nodiscard]] Result<void> ReportRefusedName(const Node& group, const ListEntry& folder) const;
  // Names in the folder of a group that may belong to nodes; reports those that cannot.
  [[nodiscard]] Result<std::vector<std::string>> NamesOfNodes(const Node& group) const;
  // The nodes of these names in a folder, requested concurrently.
  [[nodiscard]] std::vector<Result<NodePtr>> GetSome(const std::string& folder,
                                                     std::span<const std::string> names,
                                                     Age max_age, bool listed) const;
  // Consolidated metadata of the nearest group, from `folder` up, that has some; null if none is
  // known to, or they cannot be read.
  [[nodiscard]] std::shared_ptr<const ConsolidatedNodes> ListedNodesFor(std::string_view folder,
                                                                        Age max_age) const;
  // Likewise, if they have the node.
  [[nodiscard]] std::shared_ptr<const ConsolidatedNodes> ListedNodesWith(const std::string& path,
                                                                         Age max_age) const;
  // How long the absence of a node at `path` (kNotFound) holds; unknown for other errors.
  [[nodiscard]] Validity ValidityOfAbsence(const std::string& path, const Error& error) const;

  // Whether to omit a node with everything below it. `node` is an error if it cannot be read;
  // `path` ends in "/*" if the nodes below it cannot.
  using LeaveOut = std::function<bool(const std::string& path, const Result<NodePtr>& node)>;
  // Returns false to end the walk.
  using Visit = std::function<bool(const Node& node)>;
  // The node at `path`; null if it does not exist, or the view does not show it.
  [[nodiscard]] Result<NodePtr> ShownNode(const std::string& path, size_t view,
                                          const LeaveOut& leave_out) const;
  // Visits `top` and the nodes below it that the view shows, parents before children, sorted by
  // name. The validity covers all of them.
  [[nodiscard]] Result<Validity> Walk(const NodePtr& top, size_t view, Age max_age,
                                      const LeaveOut& leave_out, const Visit& visit) const;

  // Makes it; returns `known` (may be null) itself if nothing has changed. `text`, unless null, is
  // set to the bytes of a new document.
  [[nodiscard]] Result<Valid<ConsolidatedCache::Loaded>> MakeConsolidated(
      const NodePtr& group, size_t view, Age max_age, const ConsolidatedPtr& known,
      MadeTexts::Text* text = nullptr) const;

  // Makes it; returns `known` (may be null) itself if nothing has changed.
  [[nodiscard]] Result<Valid<AssembledCache::Loaded>> MakeAssembled(
      const std::string& path, size_t view, Age max_age, const AssembledPtr& known) const;

  // Scans the elements unless `known` (may be null) already has the result.
  [[nodiscard]] Scan ScanFor(const Node& array, size_t view, Age max_age,
                             const AssembledPtr& known) const;
  // Reports an omission from the file that the view makes from a node.
  void ReportLeftOut(const Node& node, size_t view, std::string_view note) const;

  // The arrays of a group that are in the view's file, or the node itself.
  [[nodiscard]] Result<Valid<std::vector<NodePtr>>> ArraysOfFile(const NodePtr& node, size_t view,
                                                                 Age max_age) const;

  // Adds coordinates from ancestor groups, nearest first, for the dimensions of `arrays`; sorts all
  // by name. Returns the validity.
  [[nodiscard]] Result<Validity> AddCoordinatesAbove(const NodePtr& group, size_t view, Age max_age,
                                                     std::vector<NodePtr>& arrays) const;

  [[nodiscard]] Result<Valid<MadeDocument>> ShareDimensions(const NodePtr& node, size_t view,
                                                            Age max_age,
                                                            MadeTexts::Text* text) const;
  [[nodiscard]] Result<Valid<MadeDocument>> PlaceArray(const NodePtr& node, size_t view,
                                                       Age max_age, MadeTexts::Text* text) const;
  // What a document is made from: adds how long that holds, and its version where it is used.
  using Sources = Valid<MadeDocument>;
  // The value of _CRS that the variable of `grid_mapping` names, or a group above; null if none
  // does. (What fewer people may read than the array is left out.)
  [[nodiscard]] Result<Json> CrsFromAbove(const Node& array, Age max_age, Sources& sources) const;
  [[nodiscard]] Result<Json> CrsOfGridMapping(const Node& array, Age max_age,
                                              Sources& sources) const;
  [[nodiscard]] Result<Json> CrsOfGroups(const Node& array, Age max_age, Sources& sources) const;
  // The names of an array's dimensions where it is one size of several in its group, null
  // otherwise. A name carries its length, unless the group has the coordinate of it.
  [[nodiscard]] Result<Json> NamesInPyramid(const Node& array, Age max_age, Sources& sources) const;
  // The node at `path`; null if there is none, or it says nothing: its documents cannot be used.
  [[nodiscard]] Result<NodePtr> SourceAt(const std::string& path, Age max_age,
                                         Sources& sources) const;
  [[nodiscard]] bool MayRepeat(const Node& source, const Node& array) const;

  [[nodiscard]] Result<RootDimensionsPtr> DimensionsOfRoot(size_t view, Age max_age) const;
  // Makes it; returns `known` (may be null) itself if nothing has changed.
  [[nodiscard]] Result<Valid<DimensionsCache::Loaded>> MakeDimensions(
      size_t view, Age max_age, const RootDimensionsPtr& known) const;
  // Returns the validity.
  [[nodiscard]] Result<Validity> FindRootDimensions(size_t view, Age max_age,
                                                    RootDimensions& made) const;
  // Those of `names` that occur in arrays in or below `groups`. kTooLarge if there are more nodes
  // than `budget`.
  [[nodiscard]] Result<Valid<std::set<std::string>>> NamesBelow(
      const std::vector<std::string>& groups, const std::set<std::string>& names, size_t view,
      Age max_age, size_t budget) const;

  const std::shared_ptr<const Store> store_;
  const HierarchyOptions options_;
  mutable NodeReports reports_;
  const NodeReader reader_;
  mutable NodeCache nodes_;
  // The newest snapshot of each path, even if outdated: the next one is derived from it.
  mutable LruCache<std::string, Node> newest_;
  mutable MadeTexts texts_;
  mutable ListedCache listed_;              // by path of the group
  mutable ConsolidatedCache consolidated_;  // by view and path
  mutable DimensionsCache dimensions_;      // by view
  mutable PlacedArrays placed_;
  mutable AssembledCache assembled_;  // by view and path
};

/// Loads values made from many nodes. To revalidate one, it is made again.
template <typename Cache>
class Hierarchy::Remaker final : public Cache::Loader {
 public:
  using ValuePtr = typename Cache::ValuePtr;
  using Loaded = typename Cache::Loaded;
  /// Returns `known` (or null) if the result would be the same.
  using Make = std::function<Result<Valid<Loaded>>(const ValuePtr& known)>;

  explicit Remaker(Make make) : make_(std::move(make)) {}

  Result<Revalidation> Revalidate(const ValuePtr& known) override {
    known_ = known;
    return Revalidation::kUnknown;
  }
  Result<Loaded> Load() override {
    auto made = make_(known_);
    if (!made) return Fail(made);
    validity_ = made->validity;
    return std::move(made->value);
  }
  Validity ValidityOf(const typename ValuePtr::element_type& /*value*/,
                      Validity /*watched*/) override {
    return validity_;
  }

 private:
  const Make make_;
  ValuePtr known_;
  Validity validity_;
};

}  // namespace zarrfs
