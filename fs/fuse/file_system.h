// FileSystem: answers the kernel's questions about one mount.
//
// Every handler finds out everything first and answers last, once. On a store that answers fast it
// runs on the thread that took the request; otherwise it first tries with what is cached, and only
// if that is not enough goes to the WaitingRoom. No lock is held while the store is asked or the
// kernel is answered.
#ifndef FS_FUSE_FILE_SYSTEM_H_
#define FS_FUSE_FILE_SYSTEM_H_

#include <fuse_lowlevel.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "fs/daemon/options.h"
#include "fs/fuse/notifier.h"
#include "fs/tree/early_reads.h"
#include "fs/tree/listing_table.h"
#include "fs/tree/log_throttle.h"
#include "fs/tree/metrics.h"
#include "fs/tree/node_table.h"
#include "fs/tree/read_ahead.h"
#include "fs/tree/status_files.h"
#include "fs/tree/superseded_shards.h"
#include "zarrcore/array/chunk_reader.h"
#include "zarrcore/base/counters.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/counted_store.h"
#include "zarrcore/store/store.h"
#include "zarrcore/view/hierarchy.h"

namespace zarrfs {

struct DirectoryHandle;
class Reply;

/// Seconds that the kernel may remember what cannot be read: perhaps it can be in a moment.
inline constexpr double kUnreadableTimeout = 0;

/// A node that a request meets: as it is now or, where it cannot be read, as it was seen last.
struct KnownNode {
  CurrentNode seen;            // without a node and a range if none is known
  std::optional<Error> error;  // why it cannot be read; kNotFound if the store has it no more
};

class FileSystem {
 public:
  /// kNotFound with one line for the user if the store holds no Zarr hierarchy.
  [[nodiscard]] static Result<std::unique_ptr<FileSystem>> Open(std::shared_ptr<const Store> store,
                                                                const MountOptions& options);

  /// The mount answers: from now on the kernel is told of changes. Once.
  void OnMounted(fuse_session* session);

  /// The mount is about to end. While files are read ahead a thread may wait for the kernel, and
  /// that for another thread: afterwards none does. Takes a second at most.
  void StopReadingAhead();

  /// In bytes, from now on. On any thread.
  void SetCacheSizes(uint64_t index_cache, uint64_t cache);

  /// The userdata of the session is the FileSystem.
  [[nodiscard]] static const fuse_lowlevel_ops& Operations();

 private:
  FileSystem(std::shared_ptr<const Store> store, std::shared_ptr<StoreCounts> counts,
             const MountOptions& options, uint32_t shown_views);

  // Runs `handler`, a void(Reply&), where it may take as long as it needs. `known`, a
  // Result<fuse_entry_param>() that does not wait, gives the answer if the request is interrupted
  // meanwhile; where it fails, that is EINTR.
  template <typename Handler, typename Known>
  void Answer(fuse_req_t request, Operation operation, Handler handler, Known known);
  template <typename Handler>
  void Answer(fuse_req_t request, Operation operation, Handler handler) {
    Answer(request, operation, std::move(handler), []() -> Result<fuse_entry_param> {
      return Fail(ErrorCode::kInterrupted, "interrupted");
    });
  }
  // Of a request that is answered at once.
  void CountAnswered(Operation operation) { metrics_.End({operation}, RequestResult::kOk); }

  void Lookup(Reply& reply, fuse_ino_t parent, const std::string& name);
  void GetAttributes(Reply& reply, fuse_ino_t id);
  void Read(Reply& reply, fuse_ino_t id, size_t size, uint64_t offset);
  // Of anything but a chunk that is stored, whose node is `known`.
  Result<fuse_entry_param> AttributesOf(const Target& target, const KnownNode& known);
  void Open(Reply& reply, fuse_ino_t id, fuse_file_info info);
  void OpenDirectory(Reply& reply, fuse_ino_t id, fuse_file_info info);
  void ReadDirectory(Reply& reply, const std::shared_ptr<DirectoryHandle>& handle, size_t size,
                     uint64_t offset, bool plus);
  void StatFs(Reply& reply);
  void Forget(fuse_ino_t id, uint64_t looks);

  // Told once of whatever the store has wrong.
  void OnReport(const Error& error);
  // A request failed.
  void LogFailure(std::string_view what, const Error& error) const;

  // What an id stands for, loaded. kStale if that is gone.
  Result<Target> Resolve(fuse_ino_t id);
  Result<CurrentNode> Refresh(const std::string& path, Age max_age);
  // What is known of a node. Fails only if the store never had it, or the answer has to wait:
  // whatever else is wrong must not make names look absent, because readers of Zarr take an absent
  // chunk for the fill value.
  Result<KnownNode> Know(const std::string& path);
  // Logs once that the store is gone, and once that it is back. Why it is gone, if it is.
  std::optional<Error> CheckStore();

  // Seconds that the kernel may remember a name: of what last changed at `ctime_ns`, or of nothing;
  // `validity`: of the answer that the name is a part of.
  double NameTimeout(int64_t ctime_ns, Validity validity) const;
  double AbsenceTimeout(Validity validity) const;
  double NodeTimeout(const Node& node) const;

  // Where a chunk is in the version that its inode stands for, superseded or not. kStale if that is
  // gone.
  Result<ChunkLocation> PlaceOf(const Target& chunk);

  // A chunk file was read: gives the kernel those that its reader is about to read.
  void ReadAheadOf(const Target& chunk, const ChunkLocation& place);
  // The answer to a look-up; of a file whose reader is about to read it, with its bytes.
  void AnswerLookup(Reply& reply, const fuse_entry_param& entry);
  // False if that is not to be done now. True: by this thread alone, which makes reading_ahead_
  // false in the end.
  bool StartReadingAhead();
  // Gives the kernel the bytes of a whole file. False if it does not know the file.
  bool Offer(NodeId id, std::span<const std::byte> bytes);

  // The store has changed (on the store's thread).
  void OnChange(const Changes& changes);
  // Names that the kernel may remember and a change may concern, one by one.
  void InvalidateEntries(fuse_session* session, const Changes& changes);
  // The record of the node that the object or folder with this key belongs to; null if none was
  // looked at.
  NodeRecord* OwnerOf(std::string_view key) const;

  // Each gives the entry (id, attributes, time-outs) of what it names.
  Result<fuse_entry_param> LookupInRoot(const std::string& name);
  Result<fuse_entry_param> LookupInFolder(const Target& folder, const std::string& name);
  // `error`: why the array cannot be read, or null. All its chunks may be there then.
  Result<fuse_entry_param> LookupChunkPath(const CurrentNode& node, size_t view,
                                           ChunkCoordinates prefix, size_t level,
                                           std::string_view name, const Error* error = nullptr);
  // What is known of a name while nobody waits for the store any more: to old readers EINTR, too,
  // means that a chunk is absent.
  Result<fuse_entry_param> LookupInterrupted(fuse_ino_t parent, const std::string& name);
  Result<fuse_entry_param> LookupInUnreadable(const KnownNode& node, size_t view,
                                              const std::string& name);
  Result<fuse_entry_param> FolderEntry(const CurrentNode& node, size_t view) const;
  // kNotFound if there are fewer documents.
  Result<fuse_entry_param> DocumentEntry(const CurrentNode& node, size_t view,
                                         size_t document) const;
  // Of a group's document that NodeView::consolidated names; the plain one of that name, or
  // kNotFound, if the view does without.
  Result<fuse_entry_param> ConsolidatedEntry(const CurrentNode& node, size_t view) const;
  fuse_entry_param ConsolidatedEntry(const CurrentNode& node, size_t view,
                                     const Consolidated& consolidated) const;
  // Of the document that depends on the node's siblings.
  Result<fuse_entry_param> SharedDocumentEntry(const CurrentNode& node, size_t view) const;
  // The version at `place` becomes the current one.
  Result<fuse_entry_param> ChunkEntry(const CurrentNode& node, size_t view, uint64_t chunk,
                                      const ChunkLocation& place, Validity validity) const;
  Result<fuse_entry_param> ChunkEntry(const ArrayRange& range, size_t view, uint64_t chunk,
                                      const ChunkLocation& place, uint32_t epoch) const;
  // What is there, or may be, and cannot be read: damage, permissions, a store that fails or is
  // gone. A name that cannot be looked up is an absent one to old readers, and an absent chunk
  // reads as the fill value. So these are files of at least a byte, or folders, and READ gives the
  // error. Fails only with an error that says nothing (kWouldBlock, kInterrupted).
  Result<fuse_entry_param> UnreadableChunkEntry(const CurrentNode& node, size_t view,
                                                uint64_t chunk, const Error& error) const;
  Result<fuse_entry_param> UnreadableDocumentEntry(const CurrentNode& node, size_t view,
                                                   size_t document) const;
  // Of a node, with the permissions of its folder, or none if there is no telling.
  Result<fuse_entry_param> UnreadableFolderEntry(const KnownNode& node, size_t view) const;
  // Asks whether the document of an array is still there, unless that is known: with it, chunks are
  // gone and not absent.
  std::optional<Error> WhyGone(const Node& array) const;
  // Attributes for what belongs to a node that perhaps was never seen.
  ObjectInfo KnownInfo(const CurrentNode& node) const;
  // The error of a READ of an inode that stands for something unreadable.
  Error WhyUnreadable(const Target& target);
  // Of a chunk that is not stored, in a view that shows such chunks.
  Result<fuse_entry_param> FillChunkEntry(const CurrentNode& node, size_t view, uint64_t chunk,
                                          Validity validity) const;
  Result<fuse_entry_param> ChunkFolderEntry(const CurrentNode& node, size_t view,
                                            std::span<const uint64_t> prefix,
                                            Validity validity = {}) const;
  Result<fuse_entry_param> RootEntry();

  Result<std::shared_ptr<DirectoryHandle>> MakeHandle(const Target& target);
  bool IsRootOfMount(const Target& target) const;

  // The folder of StatusFiles and what is in it.
  Result<fuse_entry_param> StatusFolderEntry();
  Result<fuse_entry_param> StatusEntry(const std::optional<StatusFiles::Snapshot>& file);
  std::string DescribeOptions();
  std::string DescribeMetrics() const;

  // The bytes that a document's inode stands for. kStale if they are gone.
  Result<std::shared_ptr<const std::string>> TextOf(const Target& document);

  struct stat FileAttributes(uint64_t inode, const ObjectInfo& info, uint64_t size,
                             uint32_t links) const;
  struct stat FolderAttributes(uint64_t inode, const Node& node) const;
  struct stat FolderAttributes(uint64_t inode, const ObjectInfo& info) const;

  const std::shared_ptr<StoreCounts> store_counts_;
  const std::shared_ptr<const Store> store_;
  const MountOptions options_;
  std::atomic<uint64_t> index_cache_size_;  // bytes
  std::atomic<uint64_t> cache_size_;        // likewise
  const bool fast_;
  const std::optional<size_t> only_view_;    // at the root of the mount; else a folder a view
  std::atomic<bool> uses_io_uring_ = false;  // set when the kernel says what it has
  const Age check_age_;        // how old an answer of the store may be in an answer to the kernel
  const uint64_t generation_;  // drawn at mount time: ids of an earlier mount mean nothing
  // Until then whatever the store has wrong is the error of Open(), and said once.
  std::atomic<bool> opened_ = false;
  mutable MessageRing errors_;
  mutable LogThrottle failures_;
  RequestMetrics metrics_;
  std::atomic<uint64_t> damage_ = 0;  // damaged objects found
  std::atomic<bool> store_is_gone_ = false;
  const double start_time_;  // seconds since 1970
  StatusFiles status_files_;
  std::string not_watched_ = "not yet";  // why the store tells of no changes; set by OnMounted()
  mutable std::mutex not_watched_mutex_;
  SupersededShards superseded_;
  mutable ChunkReader chunk_reader_;
  Notifier notifier_;
  // Reading ahead. The first two are set by OnMounted(), before the third.
  fuse_session* session_ = nullptr;
  std::unique_ptr<std::byte[]> ahead_buffer_;
  std::atomic<bool> may_read_ahead_ = false;
  std::atomic<bool> reading_ahead_ = false;  // by one thread at a time
  ReadAhead read_ahead_;
  EarlyReads early_reads_;
  std::atomic<uint32_t> reads_under_way_ = 0;
  Hierarchy hierarchy_;
  mutable NodeTable table_;
  ListingTable listings_;
  // Of consolidated documents, by DocumentId(view, kConsolidatedDocument, 0): hashes of their
  // texts.
  mutable EpochTable consolidated_epochs_;
  // Likewise of those that depend on siblings, by DocumentId(view, kSharedDocument, 0).
  mutable EpochTable shared_epochs_;
};

}  // namespace zarrfs

#endif  // FS_FUSE_FILE_SYSTEM_H_
