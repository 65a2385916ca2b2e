// Nodes: the groups and arrays of the store, together with their ids.
//
// In Zarr an absent chunk has a meaning: if the lookup of a chunk fails, for any reason, readers
// use the fill value. So Know() returns the current node or, if it cannot be read, its latest
// snapshot with the error. Know() fails only for nodes that the store never had. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fs/ids/node_table.h"
#include "fs/tree/failure_log.h"
#include "fs/tree/timeouts.h"
#include "fs/tree/tree_options.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/consolidated.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/hierarchy/made_documents.h"
#include "zarrcore/hierarchy/shared_documents.h"
#include "zarrcore/hierarchy/whole_files.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// The state of a node at the time of a request.
struct KnownNode {
  CurrentNode current;         // without a node and a range if the node was never read
  std::optional<Error> error;  // why the node cannot be read; kNotFound if it was removed

  [[nodiscard]] const Error* why() const { return error ? &*error : nullptr; }
};

/// The outline of a node (see Hierarchy::GetOutline()), and the record that contains its ids.
struct ListedNode {
  NodeRecord* record = nullptr;
  OutlinePtr outline;
};

class Nodes {
 public:
  /// `only_view`: the view at the root of the mount; nullopt if the root has one folder per view.
  Nodes(std::shared_ptr<const Store> store, const TreeOptions& options,
        std::optional<size_t> only_view, IdJournal& journal, const Timeouts& timeouts,
        FailureLog& failures, OnSuperseded on_superseded);

  /// Returns the file or folder of an id, with its data loaded. For a mount of one view the root is
  /// that view's folder. kStale if the file or folder no longer exists.
  [[nodiscard]] Result<Target> Resolve(NodeId id);

  /// Returns the node with its ids, from an answer of the store that is at most `max_age` old.
  [[nodiscard]] Result<CurrentNode> Refresh(const std::string& path, Age max_age);
  [[nodiscard]] Result<CurrentNode> Refresh(const std::string& path) {
    return Refresh(path, timeouts_.check_age());
  }

  /// Returns the outline of a node, which is enough for the entry of its folder in a view; see
  /// Hierarchy::GetOutline().
  [[nodiscard]] Result<ListedNode> List(const std::string& path, size_t view, Age max_age);

  /// Like Refresh(), but uses Hierarchy::GetListed(), which is enough for the entry of the node's
  /// folder in a view.
  [[nodiscard]] Result<CurrentNode> RefreshListed(const std::string& path, size_t view,
                                                  Age max_age);

  /// Returns the state of a node. Fails only if the store never had the node, or the call would
  /// block.
  [[nodiscard]] Result<KnownNode> Know(const std::string& path) {
    return Know(path, Refresh(path));
  }
  /// Like Know(), but reads the node like RefreshListed().
  [[nodiscard]] Result<KnownNode> KnowListed(const std::string& path, size_t view) {
    return Know(path, RefreshListed(path, view, timeouts_.check_age()));
  }
  /// Like Know(), but sends no request to the store. Returns the latest snapshot of the node, which
  /// cannot be read now because of `error`.
  [[nodiscard]] KnownNode LastKnown(const Target& target, const Error& error) const;
  /// Returns the latest snapshot at a path. It has no node if none was read there, or the node was
  /// evicted.
  [[nodiscard]] CurrentNode LastSeen(std::string_view path) const;

  /// Returns why the store is gone; nullopt if it answers. Logs a message when the store
  /// disappears, and another when it returns.
  std::optional<Error> CheckStore();

  /// Returns why the metadata document of a node has disappeared; nullopt if the document exists.
  /// Without the document, the chunks of an array and the nodes below a group have disappeared, and
  /// must not look absent. In a slow store, a document that was seen less than `max_age` ago is
  /// assumed to exist.
  [[nodiscard]] std::optional<Error> WhyGone(const Node& node, Age max_age) const;
  [[nodiscard]] std::optional<Error> WhyGone(const Node& node) const {
    return WhyGone(node, check_age());
  }

  /// Returns the owner, permissions and times for entries of a node, even of a node that was never
  /// read.
  [[nodiscard]] ObjectInfo InfoOf(const CurrentNode& node) const;

  /// The id of a node's folder in a view.
  [[nodiscard]] NodeId FolderId(const NodeRecord& record, size_t view) const {
    return record.path.empty() && only_view_ ? kRootId : record.FolderId(view);
  }

  /// The views whose folders the root of the mount lists, or the only view.
  [[nodiscard]] const ViewSet& listed_views() const { return listed_; }

  /// Returns the record of the node that owns the object or folder with this key; null if no such
  /// node was used. If no node was seen at a path, the path may be an object of the array above it.
  [[nodiscard]] NodeRecord* OwnerOf(std::string_view key) const;

  [[nodiscard]] const Hierarchy& hierarchy() const { return hierarchy_; }
  [[nodiscard]] Hierarchy& hierarchy() { return hierarchy_; }
  [[nodiscard]] const ConsolidatedDocuments& consolidated() const { return consolidated_; }
  [[nodiscard]] const SharedDocuments& shared() const { return shared_; }
  [[nodiscard]] const WholeFiles& files() const { return files_; }
  [[nodiscard]] const NodeTable& table() const { return table_; }
  [[nodiscard]] NodeTable& table() { return table_; }
  [[nodiscard]] const Store& store() const { return *store_; }
  [[nodiscard]] Age check_age() const { return timeouts_.check_age(); }

  /// Evicts values that are larger than their caches and were not used since the last call.
  void Sweep() {
    hierarchy_.Sweep();
    texts_.Sweep();
  }
  /// Evicts `bytes`, or everything, from the caches of documents and files that are made from
  /// several nodes. Called when memory is short.
  void EvictTexts(size_t bytes) {
    texts_.Evict(bytes);
    files_.Evict(bytes);
  }

 private:
  [[nodiscard]] Result<KnownNode> Know(const std::string& path, Result<CurrentNode> current);

  const std::shared_ptr<const Store> store_;
  const bool immutable_;
  const std::optional<size_t> only_view_;
  const Timeouts& timeouts_;
  FailureLog& failures_;
  std::atomic<bool> store_is_gone_ = false;
  mutable Mutex root_mutex_;
  ObjectInfo root_info_
      GUARDED_BY(root_mutex_);  // the latest known info of the root, whose node may be evicted
  // When WhyGone() last saw each metadata document of a slow store, by the document's key.
  mutable LruCache<std::string, int64_t> seen_ns_{1u << 20, 4};
  Hierarchy hierarchy_;
  MadeTexts texts_;
  const ConsolidatedDocuments consolidated_{hierarchy_, texts_};
  const SharedDocuments shared_{hierarchy_, texts_};
  WholeFiles files_{hierarchy_};
  const ViewSet listed_;
  NodeTable table_;
};

}  // namespace zarrfs
