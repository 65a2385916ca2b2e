// Tree: the content of a mount, without FUSE. It maps names to entries, and ids to bytes.
//
//   Lookup, Attributes   entries of names and ids        lookup.h, entries.h, nodes.h
//   Read                 bytes of files                  contents.h, prefetch.h
//   OpenFolder           listings of folders             folders.h, folder.h, chunk_files.h
//   Watch                names affected by a change      invalidation.h, timeouts.h
//   .zarrfs              status and errors of the mount  status.h, status_files.h, failure_log.h
//
// Ids are inode numbers (ids/node_table.h). Every member may be called from any thread, and may
// wait for the store; inside a NoWaiting scope it fails with kWouldBlock instead. No lock except
// that of an open folder is held during a call to the store.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "fs/tree/assembled_files.h"
#include "fs/tree/contents.h"
#include "fs/tree/entries.h"
#include "fs/tree/epoch_limit.h"
#include "fs/tree/failure_log.h"
#include "fs/tree/folder.h"
#include "fs/tree/folders.h"
#include "fs/tree/invalidation.h"
#include "fs/tree/lookup.h"
#include "fs/tree/metrics.h"
#include "fs/tree/nodes.h"
#include "fs/tree/prefetch.h"
#include "fs/tree/root_check.h"
#include "fs/tree/status.h"
#include "fs/tree/status_files.h"
#include "fs/tree/superseded_shards.h"
#include "fs/tree/timeouts.h"
#include "fs/tree/tree_options.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/counted_store.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class Tree {
 public:
  /// Opens the tree of a store. kNotFound, with a message for the user, if the store contains no
  /// Zarr hierarchy. `ids` is the file of the IdJournal, which the previous process may have
  /// written; if it is empty, ids are only valid in this process.
  [[nodiscard]] static Result<std::unique_ptr<Tree>> Open(std::shared_ptr<const Store> store,
                                                          const TreeOptions& options,
                                                          Descriptor ids = {});

  /// Looks up a name in a folder. The entry has no id if the name does not exist. An error means
  /// that the existence of the name could not be determined. "." is the folder or file itself, and
  /// ".." the parent of a folder; the kernel uses them to find the inode of a file handle.
  [[nodiscard]] Result<Entry> LookUp(NodeId folder, const std::string& name);
  /// Like LookUp(), for a lookup that was interrupted; never waits.
  [[nodiscard]] Result<Entry> LookUpInterrupted(NodeId folder, const std::string& name);
  /// Records that the kernel has forgotten `lookups` lookups that returned this id.
  void Forget(NodeId id, uint64_t lookups);

  [[nodiscard]] Result<Entry> Attributes(NodeId id);

  /// Returns the value of an attribute that says where the chunk of a file is stored.
  /// "user.zarrfs.shard" is the key of the object that contains the chunk. "user.zarrfs.offset" and
  /// ".length" are the chunk's place in that object, in bytes. kNotFound for other names and files.
  [[nodiscard]] Result<std::string> ExtendedAttribute(NodeId id, std::string_view name);
  /// The names of a file's extended attributes, each followed by a NUL; "" if it has none.
  [[nodiscard]] Result<std::string> ExtendedAttributes(NodeId id);

  /// Fails with kStale if the inode does not represent the newest version of the file; the kernel
  /// then looks up the name again.
  [[nodiscard]] Result<void> CheckOpen(NodeId id);

  struct Piece : FileBytes {
    Target target;
  };
  /// Returns bytes of a file from `offset` on: as many as fit in `buffer`, fewer only at the end of
  /// the file. Never fails with kNotFound.
  [[nodiscard]] Result<Piece> Read(NodeId id, uint64_t offset, std::span<std::byte> buffer);
  /// Prefetches files that the reader may request next. Call with the arguments of Read(), after
  /// the reply was sent.
  void PrefetchAfter(const Piece& piece, uint64_t offset, size_t size);

  struct OpenedFolder {
    std::unique_ptr<Folder> folder;
    bool is_cached = false;  // true if the kernel's cached listing is current
  };
  [[nodiscard]] Result<OpenedFolder> OpenFolder(NodeId id);
  /// Adds entries of `folder` from `cookie` on, or from the beginning for 0, until an entry does
  /// not fit.
  [[nodiscard]] Result<void> List(Folder& folder, uint64_t cookie, const AddEntry& add,
                                  ListingOf what = ListingOf::kAttributes);

  /// Logs that a request was not answered for `time`, with the key of its file: `name` in the
  /// folder `id`, or `id` itself if `name` is empty. Never waits.
  void OnLongRequest(Operation operation, NodeId id, std::string_view name,
                     std::chrono::seconds time);

  [[nodiscard]] Result<StoreCapacity> Capacity() const { return store_->Capacity(); }

  /// True if the id is that of the status folder or of a file in it.
  [[nodiscard]] static bool IsStatus(NodeId id) { return StatusFiles::Has(id); }
  [[nodiscard]] static bool IsStatus(NodeId folder, std::string_view name) {
    return IsStatus(folder) || (folder == kRootId && name == StatusFiles::kFolderName);
  }

  /// True if the store answers as fast as a local disk, so any thread may wait for it.
  [[nodiscard]] bool answers_fast() const { return answers_fast_; }

  // --- Once the mount answers --------------------------------------------------------------------

  /// Begins to watch the store, unless the options make its changes irrelevant; call once.
  /// `on_change` is called for each report of the store (see Changes), on a thread of the store.
  /// `can_invalidate_all`: one notification can invalidate all names in the kernel.
  void Watch(std::function<void(const Changes&)> on_change, bool can_invalidate_all);
  /// See invalidation.h.
  [[nodiscard]] bool FindInvalidEntries(const Changes& changes, EntryInvalidator& invalidator) {
    return zarrfs::FindInvalidEntries(nodes_, changes, invalidator);
  }

  void StartPrefetch(Prefetch::Offer offer) { prefetch_.Start(std::move(offer)); }
  void StopPrefetch() { prefetch_.Stop(); }

  /// Closes idle descriptors, drops unused data, and logs counts of throttled messages. Returns
  /// when to call Sweep() again, and the changes to pass to FindInvalidEntries() before that.
  std::pair<SupersededShards::Clock::time_point, Changes> Sweep();

  /// Sets the capacities in bytes; takes effect immediately.
  void SetCacheSizes(uint64_t index_cache, uint64_t cache);
  /// Evicts data that can be loaded again, until `bytes` bytes are freed or no such data are left.
  /// Called when memory is short.
  void Evict(uint64_t bytes);

  [[nodiscard]] RequestMetrics& metrics() { return metrics_; }
  [[nodiscard]] const IdJournal& journal() const { return *journal_; }
  /// Sets the function that adds the daemon's data to a status; call before the mount answers.
  void DescribeDaemonWith(std::function<void(MountStatus&)> describe) {
    describe_daemon_ = std::move(describe);
  }

 private:
  Tree(std::shared_ptr<const Store> store, const TreeOptions& options,
       std::optional<size_t> only_view, std::unique_ptr<IdJournal> journal);

  Result<Entry> LookUpStatus(NodeId folder, const std::string& name);
  // Looks up "." and "..", with which the kernel finds an inode by the id in a file handle.
  Result<Entry> LookUpHandle(NodeId id, const std::string& name);
  // Returns the id of the parent of a folder.
  Result<NodeId> ParentOf(NodeId id);
  // Returns the entry of the root. Waits at most RootCheck::kTimeout, because the path to .zarrfs
  // leads through the root.
  Result<Entry> Root();
  // Returns the current entry of an id, which must not be that of a stored chunk.
  Result<Entry> CurrentEntry(const Target& target);
  Result<Entry> EntryAsOf(const Target& target, const KnownNode& known);
  // Returns the entry of the newest version of a readable file, from new answers of the store. The
  // entry has no id if the layout of the array has changed, or if the chunk is missing and has no
  // file.
  Result<Entry> NewestFile(const Target& target);
  Result<Entry> NewestChunk(const Target& target);
  void OnChange(const Changes& changes);
  MountStatus Status();
  MountFigures Figures() const;

  const TreeOptions options_;
  const double start_time_;  // in seconds since 1970
  const std::shared_ptr<StoreCounts> store_counts_ = std::make_shared<StoreCounts>();
  const std::shared_ptr<const Store> store_;  // counts its calls, and fails them inside NoWaiting
  const bool answers_fast_;
  FailureLog failures_;
  RequestMetrics metrics_;
  SupersededShards superseded_;
  Timeouts timeouts_;
  const std::unique_ptr<IdJournal> journal_;
  Nodes nodes_;
  EpochLimit epoch_limit_;
  AssembledFiles files_;
  Contents contents_;
  Entries entries_;
  Lookup lookup_;
  Folders folders_;
  Prefetch prefetch_;
  ListingTable listings_;
  StatusFiles status_files_;
  RootCheck root_check_;
  std::function<void(MountStatus&)> describe_daemon_;
  Mutex not_watched_mutex_;
  std::string not_watched_ GUARDED_BY(not_watched_mutex_) = "not yet";
  const MemoryBudget::Holder memory_holder_;  // calls Evict(), so it must be the last member
};

}  // namespace zarrfs
