// Hierarchy: the current groups and arrays of a store, as each view shows them.
//
// A folder with a zarr.json is a Zarr v3 node. A folder without one is a v2 array if it has a
// .zarray, or a v2 group if it has a .zgroup; the attributes of v2 nodes are in .zattrs. One tree
// may contain v2 and v3 nodes.
//
// Nodes are read on demand, and cached up to node_cache_bytes. Callers state the maximum age of the
// answers they accept. After a document of a node changes, the next sufficiently fresh answer is a
// new snapshot. Successive snapshots of one array share a ChunkSource if the older one is still
// cached and the layout is the same.
//
// Every member may be called from any thread. A call may wait for the store. If the thread may not
// wait (base/waiting.h), the call fails with kWouldBlock. Known…(), IsFresh() and Shows() make no
// requests to the store. No lock is held during requests to the store.
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
#include "zarrcore/hierarchy/outline.h"
#include "zarrcore/store/revalidating_cache.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

class Hierarchy {
 public:
  /// `report` is called once per problem and version of a node, on the thread that finds the
  /// problem, with no lock held.
  Hierarchy(std::shared_ptr<const Store> store, HierarchyOptions options, const Report& report);

  /// The node at `path`; kNotFound if `path` is neither a group nor an array. A node with unusable
  /// documents is returned, but every view hides it and states the reason. After any error except
  /// kNotFound, it is unknown whether the node exists.
  [[nodiscard]] Result<NodePtr> Get(const std::string& path, Age max_age) const;

  /// Like Get(), for listings. If the store is behind a network, the node may come from the
  /// consolidated metadata of an ancestor group (Node::is_provisional). If a view hides such a
  /// node, call Get() for the authoritative answer.
  [[nodiscard]] Result<NodePtr> GetListed(const std::string& path, Age max_age) const;

  /// The properties of the node at `path` that a listing needs. Fails like Get(). In a fast store,
  /// most documents need not be parsed to make an outline, and outlines stay cached longer than
  /// nodes. `listed`: true if consolidated metadata may be used, as in GetListed().
  [[nodiscard]] Result<OutlinePtr> GetOutline(const std::string& path, Age max_age,
                                              bool listed = false) const;

  /// True if `node` is known to be current, or was checked less than `max_age` ago.
  [[nodiscard]] bool IsFresh(const Node& node, Age max_age) const {
    return node.freshness.IsFresh(*store_, max_age);
  }

  /// Names of the nodes directly below a group, sorted, including nodes that are hidden or cannot
  /// be read now. Empty for an array. The validity covers the names and the outline of each node.
  /// `listed`: true if consolidated metadata may be used, as in GetListed(). `has_others` may be
  /// null; it is set to true if the folder has names that belong to no node.
  [[nodiscard]] Result<Valid<std::vector<std::string>>> Children(const Node& node, Age max_age,
                                                                 bool listed = false,
                                                                 bool* has_others = nullptr) const;

  /// Names in the folder of a group that may belong to nodes, sorted. A name belongs to a node
  /// unless GetOutline() returns kNotFound for it.
  [[nodiscard]] Result<std::vector<std::string>> CandidateNames(const Node& group) const;
  /// The validity of the answer that no node exists at `path`, if `error` is kNotFound; unknown for
  /// other errors.
  [[nodiscard]] Validity ValidityOfAbsence(const std::string& path, const Error& error) const;
  /// Visits the nodes that Children() lists, in the same order, each as soon as it is read, so a
  /// listing of a large group can start with its first nodes. `on_names` is called first, with the
  /// sorted names of the folders in the group that may be nodes. `visit` receives an error for a
  /// node that cannot be read, and returns false to stop. The returned validity covers the same
  /// answers as that of Children().
  using OnNames = std::function<void(const std::vector<std::string>& names)>;
  using VisitChild = std::function<bool(const std::string& name, const Result<NodePtr>& child)>;
  [[nodiscard]] Result<Validity> VisitChildren(const Node& node, Age max_age,
                                               const OnNames& on_names,
                                               const VisitChild& visit) const;

  /// The sorted names of the additional files in an OME group (Node::is_file). Empty for any other
  /// node. Errors and validity are those of Children().
  [[nodiscard]] Result<Valid<std::vector<std::string>>> Files(const Node& node, Age max_age) const;

  /// True if view number `view` lists the node `name` below its parent.
  [[nodiscard]] static bool Shows(const Node& child, std::string_view name, size_t view);
  [[nodiscard]] static bool Shows(const Outline& child, std::string_view name, size_t view);

  // --- Consolidated metadata: consolidated.cc ---

  /// The consolidated document of a group in view number `view`. NodeView::consolidated must not be
  /// empty. Omits nodes that the mount may not read. If other users may access the mount, also
  /// omits nodes with stricter permissions than the group. Fails if any other node cannot be read.
  [[nodiscard]] Result<ConsolidatedPtr> Consolidate(const NodePtr& group, size_t view,
                                                    Age max_age) const;
  /// The cached consolidated document, or null. Makes no requests to the store.
  [[nodiscard]] ConsolidatedPtr KnownConsolidated(const Node& group, size_t view) const;
  /// The bytes of version `text_number` of a group's consolidated document. kStale if the document
  /// has changed.
  [[nodiscard]] Result<MadeTexts::Text> ConsolidatedText(const NodePtr& group, size_t view,
                                                         uint64_t text_number) const;

  // --- Documents that depend on other nodes: shared_documents.cc ---

  /// True if document number `document` of the node at `path` depends on other nodes: its siblings,
  /// or nodes in the groups above it.
  [[nodiscard]] static bool DependsOnSiblings(std::string_view path, size_t view, size_t document);
  /// The current version of a document for which DependsOnSiblings() is true. If the view shares
  /// dimensions and a sibling cannot be read, each dimension name includes its length. If the view
  /// places arrays (View::places_arrays), fails if a node that may name the coordinate system
  /// cannot be read. Stores the document's bytes in `text` unless it is null.
  [[nodiscard]] Result<Valid<MadeDocument>> SharedDocument(const NodePtr& node, size_t view,
                                                           Age max_age,
                                                           MadeTexts::Text* text = nullptr) const;
  /// The bytes of version `text_number` of a document that SharedDocument() made. kStale if the
  /// document has changed.
  [[nodiscard]] Result<MadeTexts::Text> SharedText(const NodePtr& node, size_t view,
                                                   uint64_t text_number) const;
  /// The last known dimensions of the root group, or null. Makes no requests to the store.
  [[nodiscard]] RootDimensionsPtr KnownDimensions(size_t view) const;

  // --- Arrays with a coordinate system of another node: placed_documents.cc ---

  /// The arrays below the group at `folder` for which SharedDocument() was called in a view that
  /// adds coordinate systems to arrays (View::places_arrays). Makes no requests to the store.
  [[nodiscard]] std::vector<std::string> KnownPlaced(std::string_view folder) const {
    return placed_.Below(folder);
  }

  // --- Files of whole arrays, in views with a file_of(): hierarchy_files.cc ---

  /// The name of the file that the view makes from the node at `path`: the node's name and the
  /// view's suffix, with `_` between them if that name is already used. The file is in the folder
  /// of the parent group; the file of the root is in the view's top folder.
  [[nodiscard]] Result<std::string> FileName(const std::string& path, size_t view,
                                             Age max_age) const;
  /// The path of the node whose file is called `name` in the folder of the group at `folder`.
  /// nullopt if no such file exists.
  [[nodiscard]] Result<std::optional<std::string>> PathOfFile(const std::string& folder,
                                                              size_t view, std::string_view name,
                                                              Age max_age) const;
  /// True if the view makes a file (or, if `file` is false, a folder) from the node at `path`. Also
  /// true if the node cannot be read.
  [[nodiscard]] Result<bool> HasFileOrFolder(const std::string& path, size_t view, bool file,
                                             Age max_age) const;
  /// The file that the view makes from a node, or from an array of strings (NodeView::has_texts).
  /// Fails if a node that the file is made from cannot be read.
  [[nodiscard]] Result<AssembledPtr> Assemble(const NodePtr& node, size_t view, Age max_age) const;
  /// The last known version of the file, or null. Makes no requests to the store.
  [[nodiscard]] AssembledPtr KnownFile(const Node& node, size_t view) const;

  // --- Store, caches and memory ---

  [[nodiscard]] const Store& store() const { return *store_; }
  [[nodiscard]] CacheStatistics index_cache_statistics() const {
    return reader_.index_cache().statistics();
  }
  /// Changes the capacity of the cache of shard indexes, which is initially
  /// HierarchyOptions::index_cache_bytes.
  void SetIndexCacheSize(size_t bytes) { reader_.index_cache().SetCapacity(bytes); }
  /// The cache of shard indexes and the cache of documents may each hold one value that is larger
  /// than the cache. Evicts each of these values if it was not used since the last call.
  void Sweep() {
    reader_.index_cache().SweepLatestLarge();
    texts_.Sweep();
  }

  // The Evict functions evict entries of `bytes` in total, or all entries, from each of their
  // caches. Called when memory is short.
  void EvictTexts(size_t bytes) {
    texts_.Evict(bytes);
    assembled_.Evict(bytes);
  }
  void EvictIndexes(size_t bytes) { reader_.index_cache().Evict(bytes); }
  void EvictNodes(size_t bytes) {
    nodes_.Evict(bytes);
    newest_.Evict(bytes);
    listed_.Evict(bytes);
    outlines_.Evict(bytes);
  }

 private:
  using NodeCache = RevalidatingCache<std::string, Node>;
  using ConsolidatedCache = RevalidatingCache<std::string, Consolidated>;
  using DimensionsCache = RevalidatingCache<size_t, RootDimensions>;
  using AssembledCache = RevalidatingCache<std::string, Assembled>;
  using ListedCache = RevalidatingCache<std::string, ConsolidatedNodes>;
  using OutlineCache = RevalidatingCache<std::string, Outline>;
  class NodeLoader;
  class OutlineLoader;
  class ListedLoader;
  template <typename Cache>
  class Remaker;

  // Reports a folder below `group` that contains a node but whose name is not allowed for nodes.
  [[nodiscard]] Result<void> ReportRefusedName(const Node& group, const ListEntry& folder) const;
  // The names in the folder of a group that may belong to nodes. Reports folders whose names are
  // not allowed.
  [[nodiscard]] Result<std::vector<std::string>> NamesOfNodes(const Node& group) const;
  // The maximum age of a node that Children() has just returned with `max_age`. In a fast store,
  // Children() has checked the outline but not the node. In a slow store, Children() has checked
  // the node itself, so any cached version is accepted.
  [[nodiscard]] Age AgeBelow(Age max_age) const {
    return store_->AnswersFast() ? max_age : kAnyAge;
  }
  // Returns the outlines of the nodes `names` in `folder`. Requests them concurrently.
  [[nodiscard]] std::vector<Result<OutlinePtr>> GetSome(const std::string& folder,
                                                        std::span<const std::string> names,
                                                        Age max_age, bool listed) const;
  // The consolidated metadata of `folder` or of its nearest ancestor that has them. Null if none
  // has any, if a group on the way is not cached, or if the metadata cannot be read.
  [[nodiscard]] std::shared_ptr<const ConsolidatedNodes> ListedNodesFor(std::string_view folder,
                                                                        Age max_age) const;
  // Like ListedNodesFor() for the parent folder of `path`, but null if the metadata lack the node
  // at `path`.
  [[nodiscard]] std::shared_ptr<const ConsolidatedNodes> ListedNodesWith(const std::string& path,
                                                                         Age max_age) const;

  // Decides whether a walk omits a node and everything below it. `node` is an error if the node
  // cannot be read. `path` ends in "/*" if the names below the node cannot be listed.
  using LeaveOut = std::function<bool(const std::string& path, const Result<NodePtr>& node)>;
  // Called with each node of a walk. Returns false to end the walk.
  using Visit = std::function<bool(const Node& node)>;
  // The node at `path`. Null if it does not exist or the view does not show it.
  [[nodiscard]] Result<NodePtr> ShownNode(const std::string& path, size_t view, Age max_age,
                                          const LeaveOut& leave_out) const;
  // Visits `top` and the nodes below it that the view shows, parents before children, sorted by
  // name. The validity covers all these nodes.
  [[nodiscard]] Result<Validity> Walk(const NodePtr& top, size_t view, Age max_age,
                                      const LeaveOut& leave_out, const Visit& visit) const;

  // Makes the consolidated document; returns `known` (may be null) if nothing has changed. Stores
  // the bytes of a new document in `text` unless it is null.
  [[nodiscard]] Result<Valid<ConsolidatedCache::Loaded>> MakeConsolidated(
      const NodePtr& group, size_t view, Age max_age, const ConsolidatedPtr& known,
      MadeTexts::Text* text = nullptr) const;

  // Makes the file of a node; returns `known` (may be null) if nothing has changed.
  [[nodiscard]] Result<Valid<AssembledCache::Loaded>> MakeAssembled(
      const std::string& path, size_t view, Age max_age, const AssembledPtr& known) const;

  // Scans the elements of an array. Reuses the scan in `known` (may be null) if the stored chunks
  // are unchanged.
  [[nodiscard]] Scan ScanFor(const Node& array, size_t view, Age max_age,
                             const AssembledPtr& known) const;
  // Reports that the file that the view makes from `node` omits something. `note` says what or why.
  void ReportLeftOut(const Node& node, size_t view, std::string_view note) const;

  // The arrays of a group that belong in the view's file. For an array, only the array itself.
  [[nodiscard]] Result<Valid<std::vector<NodePtr>>> ArraysOfFile(const NodePtr& node, size_t view,
                                                                 Age max_age) const;

  // Adds the coordinates of the dimensions of `arrays` from ancestor groups, nearest first, and
  // sorts all arrays by name. Returns the validity of the result.
  [[nodiscard]] Result<Validity> AddCoordinatesAbove(const NodePtr& group, size_t view, Age max_age,
                                                     std::vector<NodePtr>& arrays) const;

  [[nodiscard]] Result<Valid<MadeDocument>> ShareDimensions(const NodePtr& node, size_t view,
                                                            Age max_age,
                                                            MadeTexts::Text* text) const;
  [[nodiscard]] Result<Valid<MadeDocument>> PlaceArray(const NodePtr& node, size_t view,
                                                       Age max_age, MadeTexts::Text* text) const;
  // The sources of a document: their common validity, and the latest version of the sources used.
  using Sources = Valid<MadeDocument>;
  // The coordinate system of `array` as a value of _CRS, from the variable that `grid_mapping`
  // names or from a group above the array. Null if none declares one. If other users may access the
  // mount, skips nodes with stricter permissions than the array.
  [[nodiscard]] Result<Json> CrsFromAbove(const Node& array, Age max_age, Sources& sources) const;
  [[nodiscard]] Result<Json> CrsOfGridMapping(const Node& array, Age max_age,
                                              Sources& sources) const;
  [[nodiscard]] Result<Json> CrsOfGroups(const Node& array, Age max_age, Sources& sources) const;
  // The dimension names of an array that is one of several resolutions in its group. Null for other
  // arrays. A name includes the length of the dimension unless the group has a coordinate for it.
  [[nodiscard]] Result<Json> NamesInPyramid(const Node& array, Age max_age, Sources& sources) const;
  // The node at `path`. Null if the node does not exist, may not be read, or has unusable
  // documents.
  [[nodiscard]] Result<NodePtr> SourceAt(const std::string& path, Age max_age,
                                         Sources& sources) const;
  [[nodiscard]] bool MayRepeat(const Node& source, const Node& array) const;

  [[nodiscard]] Result<RootDimensionsPtr> DimensionsOfRoot(size_t view, Age max_age) const;
  // Finds the dimensions of the root group; returns `known` (may be null) if nothing has changed.
  [[nodiscard]] Result<Valid<DimensionsCache::Loaded>> MakeDimensions(
      size_t view, Age max_age, const RootDimensionsPtr& known) const;
  // Fills `made` with the dimensions of the root group. Returns their validity.
  [[nodiscard]] Result<Validity> FindRootDimensions(size_t view, Age max_age,
                                                    RootDimensions& made) const;
  // The members of `names` that are dimensions of arrays in or below `groups`. kTooLarge if more
  // than `budget` nodes are below the groups.
  [[nodiscard]] Result<Valid<std::set<std::string>>> NamesBelow(
      const std::vector<std::string>& groups, const std::set<std::string>& names, size_t view,
      Age max_age, size_t budget) const;

  const std::shared_ptr<const Store> store_;
  const HierarchyOptions options_;
  mutable NodeReports reports_;
  const NodeReader reader_;
  mutable NodeCache nodes_;
  // The newest snapshot of each path, even if it is outdated. The next snapshot may reuse its
  // ChunkSource.
  mutable LruCache<std::string, Node> newest_;
  mutable OutlineCache outlines_;
  mutable MadeTexts texts_;
  mutable ListedCache listed_;              // keyed by the path of the group
  mutable ConsolidatedCache consolidated_;  // keyed by view and path
  mutable DimensionsCache dimensions_;      // keyed by view
  mutable PlacedArrays placed_;
  mutable AssembledCache assembled_;  // keyed by view and path
};

/// A loader for values made from many nodes. It revalidates a value by making it again.
template <typename Cache>
class Hierarchy::Remaker final : public Cache::Loader {
 public:
  using ValuePtr = typename Cache::ValuePtr;
  using Loaded = typename Cache::Loaded;
  /// Makes the value; returns `known` (may be null) if the result would be the same.
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
