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
// wait (base/waiting.h), the call fails with kWouldBlock. IsFresh() and Shows() make no requests to
// the store. No lock is held during requests to the store.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/hierarchy/consolidated_nodes.h"
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

  /// The properties of the node at `path` that a listing needs. Returns the errors of Get(). In a
  /// fast store, most documents need not be parsed to make an outline, and outlines stay cached
  /// longer than nodes. `listed`: true if consolidated metadata may be used, as in GetListed().
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
  /// node. Returns the errors of Children(). The validity covers the names and the files.
  [[nodiscard]] Result<Valid<std::vector<std::string>>> Files(const Node& node, Age max_age) const;

  /// True if view number `view` lists `child`, a node called `name`, in the folder of its parent.
  [[nodiscard]] static bool Shows(const Node& child, std::string_view name, size_t view);
  [[nodiscard]] static bool Shows(const Outline& child, std::string_view name, size_t view);

  // --- For documents and files that are made from several nodes ---

  /// Returns true if Walk() must omit a node and everything below it. `node` is an error if the
  /// node cannot be read. `path` ends in "/*" if the names below the node cannot be listed.
  using LeaveOut = std::function<bool(const std::string& path, const Result<NodePtr>& node)>;
  /// Called by Walk() with each node. Returns false to end the walk.
  using Visit = std::function<bool(const Node& node)>;
  /// Visits `top` and the nodes below it that the view shows, parents before children, sorted by
  /// name. The validity covers all these nodes.
  [[nodiscard]] Result<Validity> Walk(const NodePtr& top, size_t view, Age max_age,
                                      const LeaveOut& leave_out, const Visit& visit) const;
  /// The node at `path`. Null if the node does not exist, the view does not show it, or `leave_out`
  /// omits it.
  [[nodiscard]] Result<NodePtr> ShownNode(const std::string& path, size_t view, Age max_age,
                                          const LeaveOut& leave_out) const;
  [[nodiscard]] const HierarchyOptions& options() const { return options_; }
  [[nodiscard]] NodeReports& reports() const { return reports_; }

  // --- Store, caches and memory ---

  [[nodiscard]] const Store& store() const { return *store_; }
  [[nodiscard]] const std::shared_ptr<const Store>& shared_store() const { return store_; }
  [[nodiscard]] CacheStatistics index_cache_statistics() const {
    return reader_.index_cache().statistics();
  }
  /// Changes the capacity of the cache of shard indexes, which is initially
  /// HierarchyOptions::index_cache_bytes.
  void SetIndexCacheSize(size_t bytes) { reader_.index_cache().SetCapacity(bytes); }
  /// The cache of shard indexes may hold one index that is larger than the cache. Evicts that index
  /// if it was not used since the last call.
  void Sweep() { reader_.index_cache().SweepLatestLarge(); }

  // Each of these functions evicts entries of `bytes` in total, or all entries, from each of its
  // caches. Called when memory is short.
  void EvictIndexes(size_t bytes) { reader_.index_cache().Evict(bytes); }
  void EvictNodes(size_t bytes) {
    nodes_.Evict(bytes);
    newest_.Evict(bytes);
    listed_.Evict(bytes);
    outlines_.Evict(bytes);
  }

 private:
  using NodeCache = RevalidatingCache<std::string, Node>;
  using ListedCache = RevalidatingCache<std::string, ConsolidatedNodes>;
  using OutlineCache = RevalidatingCache<std::string, Outline>;
  class NodeLoader;
  class OutlineLoader;
  class ListedLoader;

  // Reports a folder below `group` that contains a node but whose name is not allowed for nodes.
  [[nodiscard]] Result<void> ReportRefusedName(const Node& group, const ListEntry& folder) const;
  // The names in the folder of a group that may belong to nodes. Reports folders whose names are
  // not allowed.
  [[nodiscard]] Result<std::vector<std::string>> NamesOfNodes(const Node& group) const;
  // Returns the maximum age for getting a node that Children() has just listed with `max_age`. In a
  // fast store, Children() has checked the outline but not the node. In a slow store, Children()
  // has checked the node itself, so any cached version is accepted.
  [[nodiscard]] Age AgeBelow(Age max_age) const {
    return store_->AnswersFast() ? max_age : kAnyAge;
  }
  // Returns the outlines of the nodes `names` in `folder`. Requests them concurrently.
  [[nodiscard]] std::vector<Result<OutlinePtr>> GetSome(const std::string& folder,
                                                        std::span<const std::string> names,
                                                        Age max_age, bool listed) const;
  // The consolidated metadata of `folder` or of its nearest ancestor that has them. Null if no such
  // group has consolidated metadata, if a group on the path is not cached, or if the metadata
  // cannot be read.
  [[nodiscard]] std::shared_ptr<const ConsolidatedNodes> ListedNodesFor(std::string_view folder,
                                                                        Age max_age) const;
  // The consolidated metadata of the nearest group above `path` that has them; see
  // ListedNodesFor(). Null if these metadata lack the node at `path`.
  [[nodiscard]] std::shared_ptr<const ConsolidatedNodes> ListedNodesWith(const std::string& path,
                                                                         Age max_age) const;

  const std::shared_ptr<const Store> store_;
  const HierarchyOptions options_;
  mutable NodeReports reports_;
  const NodeReader reader_;
  mutable NodeCache nodes_;
  // The newest snapshot of the node at each path, even if it is outdated. The next snapshot may
  // reuse its ChunkSource.
  mutable LruCache<std::string, Node> newest_;
  mutable OutlineCache outlines_;
  mutable ListedCache listed_;  // keyed by the path of the group
};

}  // namespace zarrfs
