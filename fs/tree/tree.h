// Tree: the content of a mount, without FUSE: names in; entries, bytes and their lifetimes out.
//
//   Lookup, Attributes   names and ids to entries   lookup.h, entries.h, nodes.h
//   Read                 ids to bytes               contents.h, prefetch.h
//   OpenFolder           listings                   folders.h, folder.h, chunk_files.h
//   Watch                what changes               invalidation.h, timeouts.h
//   .zarrfs              what it says of itself     status.h, status_files.h, failure_log.h
//
// Ids are those that the kernel keeps (ids/node_table.h). Every member may be called from any
// thread, and waits for the store if it must; inside a NoWaiting scope it fails with kWouldBlock
// instead. No lock is held while the store is asked.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
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
#include "zarrcore/base/result.h"
#include "zarrcore/store/counted_store.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class Tree {
 public:
  /// kNotFound with one line for the user if the store holds no Zarr hierarchy. `ids`: the file of
  /// the IdJournal, which the previous process may have written; empty: for this process only.
  [[nodiscard]] static Result<std::unique_ptr<Tree>> Open(std::shared_ptr<const Store> store,
                                                          const TreeOptions& options,
                                                          Descriptor ids = {});

  /// The entry of a name in a folder; without an id if the name does not exist. Fails only with
  /// errors that say nothing about the name.
  [[nodiscard]] Result<Entry> LookUp(NodeId folder, const std::string& name);
  /// As LookUp() after an interruption; never waits.
  [[nodiscard]] Result<Entry> LookUpInterrupted(NodeId folder, const std::string& name);
  /// The kernel drops an inode that it has received `lookups` times.
  void Forget(NodeId id, uint64_t lookups);

  [[nodiscard]] Result<Entry> Attributes(NodeId id);

  /// kStale if the inode is not the newest version; then the kernel looks its name up again.
  [[nodiscard]] Result<void> CheckOpen(NodeId id);

  struct Piece : FileBytes {
    Target target;
  };
  /// Bytes of a file from `offset` on: as many as fit `buffer`, fewer only at the end. Never fails
  /// with kNotFound.
  [[nodiscard]] Result<Piece> Read(NodeId id, uint64_t offset, std::span<std::byte> buffer);
  /// Call when the reader has its answer, with the arguments of Read().
  void PrefetchAfter(const Piece& piece, uint64_t offset, size_t size);

  struct OpenedFolder {
    std::unique_ptr<Folder> folder;
    bool is_cached = false;  // the kernel's cached listing is current
  };
  [[nodiscard]] Result<OpenedFolder> OpenFolder(NodeId id);
  /// Adds its entries from `cookie` on (0: from the beginning) until the room is used up.
  [[nodiscard]] Result<void> List(Folder& folder, uint64_t cookie, const AddEntry& add,
                                  ListingOf what = ListingOf::kAttributes);

  /// Logs, with the key, a request that has had no answer for `time`: for a name in the folder
  /// `id`, or `id` itself if there is no name. Never waits.
  void OnLongRequest(Operation operation, NodeId id, std::string_view name,
                     std::chrono::seconds time);

  [[nodiscard]] Result<StoreCapacity> Capacity() const { return store_->Capacity(); }

  /// Whether the id is that of the status folder or of a file in it.
  [[nodiscard]] static bool IsStatus(NodeId id) { return StatusFiles::Has(id); }
  [[nodiscard]] static bool IsStatus(NodeId folder, std::string_view name) {
    return IsStatus(folder) || (folder == kRootId && name == StatusFiles::kFolderName);
  }

  /// Whether every answer is as fast as a local disk, so that nothing has to wait.
  [[nodiscard]] bool answers_fast() const { return answers_fast_; }

  // --- Once the mount answers --------------------------------------------------------------------

  /// Begins to watch the store, if useful; call once. `on_change` is called after each change, on a
  /// thread of the store. `can_invalidate_all`: a change can invalidate all names in the kernel.
  void Watch(std::function<void(const Changes&)> on_change, bool can_invalidate_all);
  /// See invalidation.h.
  [[nodiscard]] bool FindInvalidEntries(const Changes& changes, EntryInvalidator& invalidator) {
    return zarrfs::FindInvalidEntries(nodes_, changes, invalidator);
  }

  void StartPrefetch(Prefetch::Offer offer) { prefetch_.Start(std::move(offer)); }
  void StopPrefetch() { prefetch_.Stop(); }

  /// Closes and drops unused data, and logs counts. Returns when to call it again, and the changes
  /// to pass to FindInvalidEntries() before that.
  std::pair<SupersededShards::Clock::time_point, Changes> Sweep();

  /// In bytes; takes effect immediately.
  void SetCacheSizes(uint64_t index_cache, uint64_t cache);
  /// Memory is short: evicts `bytes`, or everything that can be made again.
  void GiveUp(uint64_t bytes);

  [[nodiscard]] RequestMetrics& metrics() { return metrics_; }
  [[nodiscard]] const IdJournal& journal() const { return *journal_; }
  /// Adds the daemon's data to a status; call before the mount answers.
  void DescribeDaemonWith(std::function<void(MountStatus&)> describe) {
    describe_daemon_ = std::move(describe);
  }

 private:
  Tree(std::shared_ptr<const Store> store, const TreeOptions& options,
       std::optional<size_t> only_view, std::unique_ptr<IdJournal> journal);

  Result<Entry> LookUpStatus(NodeId folder, const std::string& name);
  // Within RootCheck::kPatience: the way to .zarrfs leads through it.
  Result<Entry> Root();
  // The current entry of an id other than a stored chunk's.
  Result<Entry> CurrentEntry(const Target& target);
  Result<Entry> EntryAsOf(const Target& target, const KnownNode& known);
  // The entry of the newest version of a readable file, from answers of the store from now on;
  // without an id if the chunk has another inode now, or none.
  Result<Entry> NewestFile(const Target& target);
  Result<Entry> NewestChunk(const Target& target);
  void OnChange(const Changes& changes);
  MountStatus Status();
  MountFigures Figures() const;

  const TreeOptions options_;
  const double start_time_;  // seconds since 1970
  const std::shared_ptr<StoreCounts> store_counts_ = std::make_shared<StoreCounts>();
  const std::shared_ptr<const Store> store_;  // counted and gated
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
  MemoryBudget::Share memory_of_epochs_;  // as of the last Sweep()
  std::function<void(MountStatus&)> describe_daemon_;
  std::mutex not_watched_mutex_;
  std::string not_watched_ = "not yet";       // why the store reports no changes; guarded by it
  const MemoryBudget::Holder memory_holder_;  // calls GiveUp(): must be the last member
};

}  // namespace zarrfs
