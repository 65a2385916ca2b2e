// NodeTable: maps between node ids and the files and folders that they represent.
//
// A node id is a 64-bit number that encodes its meaning: 16 bits of epoch above 48 bits of
// position. Positions are allocated in ranges that are never reused:
//
//   1                   the root of the mount
//   a block per node    its folder in each view, and the views' metadata files
//   ranges per array    for its chunk files and chunk folders (array_range.h)
//
// Within a range an id is computed; the range is found by binary search. So memory grows with the
// number of arrays used, never with chunks, and FORGET does nothing. If a node has not been used
// for long, it is evicted with the data of its array, except the positions. Both are loaded again
// together. A Target can therefore be kUnloaded.
//
// The epoch of a chunk file is that of its stored object (EpochTable). The epoch of a metadata file
// is the number of changes to its node's metadata. The epoch of a consolidated document is the
// number of changes to its content. Reads of an id with an outdated epoch return the old content if
// it can still be read, and fail with ESTALE otherwise. An array whose layout changes gets a new
// range. Folders of the old range stay usable for kReplacedRangeGrace, and show the new layout.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/ids/array_range.h"
#include "fs/ids/file_kind.h"
#include "fs/ids/id_journal.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs {

/// The record of a node of the store that was looked up. Lives as long as the process.
struct NodeRecord {
  std::string path;
  uint64_t block = 0;  // the first position of the node's block

  std::atomic<bool> was_used = false;   // the node was used since EvictDownTo() last considered it
  std::atomic<bool> was_array = false;  // the path has been an array at some time
  // Counts the changes of the node and its chunks that the store has reported; see AssembledFiles.
  std::atomic<uint64_t> changes = 0;

  Mutex mutex;
  NodePtr node GUARDED_BY(mutex);                  // the latest snapshot; null once evicted
  RangePtr current GUARDED_BY(mutex);              // the chunks of `node`, if it is an array
  size_t bytes GUARDED_BY(mutex) = 0;              // memory charged for `node`
  RangeRecord* range GUARDED_BY(mutex) = nullptr;  // the range of the array in the latest snapshot
  uint32_t document_epoch GUARDED_BY(mutex) = 0;
  // The digest of all documents in the current epoch. Absent until a node was seen; not evicted
  // with the node.
  std::optional<Digest> documents GUARDED_BY(mutex);
  // Previous documents by epoch, for programs that have opened them; the latest is last.
  std::vector<std::pair<uint32_t, NodePtr>> past_documents GUARDED_BY(mutex);
  static constexpr size_t kMaxPastDocuments = 4;
  // True if the node was a group when it was last readable. Then `range` is the range of an array
  // that the group replaced, or null.
  bool is_group GUARDED_BY(mutex) = false;
  // For TakeChange(): the hash of the node's names and permissions (ShapeOf()), and whether the
  // hash has changed since the last call.
  std::optional<uint64_t> shape GUARDED_BY(mutex);
  bool is_another GUARDED_BY(mutex) = false;
  // The ranges that were current since the last TakeChange(), oldest first.
  std::vector<RangeRecord*> ranges GUARDED_BY(mutex);

  [[nodiscard]] NodeId FolderId(size_t view) const { return MakeId(block + view * kSlots, 0); }
  [[nodiscard]] NodeId DocumentId(size_t view, size_t document, uint32_t epoch) const {
    return MakeId(block + view * kSlots + 1 + document, epoch);
  }
  static constexpr uint64_t kSlots = 1 + kMaxDocuments;
  static constexpr uint64_t kBlock = kMaxViews * kSlots;
};

/// The current snapshot of a node, with the record, epoch and range from which its ids are made.
struct CurrentNode {
  NodeRecord* record = nullptr;
  NodePtr node;
  uint32_t document_epoch = 0;
  RangePtr range;
};

/// The changes of a node since the last TakeChange().
struct TakenChange {
  bool is_another = false;       // names, ids of chunks or permissions changed, not only documents
  std::vector<RangePtr> ranges;  // the array's ranges since the last call, oldest first
};

/// The file or folder that a node id represents.
struct Target {
  // kUnloaded: a file or folder of an array whose data must be loaded before its meaning is known.
  enum class Kind { kRoot, kFolder, kDocument, kChunk, kChunkFolder, kUnloaded };
  Kind kind = Kind::kRoot;
  FileKind file = FileKind::kNone;  // for kDocument and kChunk
  NodeRecord* record = nullptr;
  size_t view = 0;
  size_t document = 0;        // for kDocument
  RangePtr range;             // for kChunk and kChunkFolder
  InnerIndex chunk{};         // for kChunk
  ChunkCoordinates prefix{};  // for kChunkFolder: `level` coordinates
  size_t level = 0;
  uint16_t epoch = 0;
};

/// How long the chunk folders of an array stay usable after its layout was replaced.
inline constexpr std::chrono::seconds kReplacedRangeGrace{60};

/// A list that grows at its end and is read without a lock.
///
/// Elements are stored in blocks, each twice as large as the previous one, so no element ever
/// moves. Only one thread at a time may call Append(); all other members are thread-safe.
template <typename T>
class AppendList {
 public:
  void Append(const T& value) {
    const size_t index = size_.load(std::memory_order_relaxed);
    const size_t block = BlockOf(index);
    if (index == FirstOf(block)) blocks_[block] = std::make_unique<T[]>(kFirstBlock << block);
    blocks_[block][index - FirstOf(block)] = value;
    size_.store(index + 1, std::memory_order_release);
  }

  [[nodiscard]] size_t size() const { return size_.load(std::memory_order_acquire); }

  /// `index` must be less than size().
  [[nodiscard]] const T& operator[](size_t index) const {
    const size_t block = BlockOf(index);
    return blocks_[block][index - FirstOf(block)];
  }

  /// The last element whose `key` is not above `value`, or null. The elements must be sorted by
  /// `key`.
  template <typename Key>
  [[nodiscard]] const T* LastUpTo(Key T::*key, const Key& value) const {
    size_t low = 0;
    size_t high = size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if ((*this)[middle].*key <= value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == 0 ? nullptr : &(*this)[low - 1];
  }

 private:
  static constexpr size_t kFirstBlock = 64;
  static size_t BlockOf(size_t index) { return std::bit_width(index / kFirstBlock + 1) - 1; }
  static size_t FirstOf(size_t block) { return ((size_t{1} << block) - 1) * kFirstBlock; }

  std::atomic<size_t> size_ = 0;
  std::array<std::unique_ptr<T[]>, 48> blocks_;
};

class NodeTable {
 public:
  /// `listed_views`: the views in which a walk of the mount finds a file, needed for link counts.
  /// Caches the most recently used nodes, about `node_bytes` bytes. Continues with the ids in
  /// `journal`, which must outlive this object. For `max_past` see EpochTable::Usage.
  NodeTable(const ViewSet& listed_views, IdJournal& journal, size_t node_bytes = SIZE_MAX,
            size_t max_past = PastVersions::kMaxOpen);

  /// Stores `node` in the record of its path, unless the record has a later snapshot. Returns the
  /// record and the latest snapshot. kUnsupported if no positions are left, after very many huge
  /// arrays.
  [[nodiscard]] Result<CurrentNode> Refresh(const NodePtr& node);

  /// Updates the record of a node whose outline is known but whose documents are not, because only
  /// its folder was listed.
  [[nodiscard]] Result<NodeRecord*> Refresh(const Outline& outline);

  /// Returns the record of a path, even if no readable node was seen there. kUnsupported if no
  /// positions are left.
  [[nodiscard]] Result<NodeRecord*> RecordOf(const std::string& path);

  /// Like RecordOf(), but also records that the path is an array. Used for the arrays from which a
  /// file of another node is assembled.
  [[nodiscard]] Result<NodeRecord*> RecordOfArray(const std::string& path);

  /// Returns a node's latest snapshot and its range of chunk ids without reading the store. The
  /// snapshot is null if no node was seen or it was evicted. If the snapshot is damaged and has no
  /// chunks, the range is that of an earlier snapshot.
  [[nodiscard]] CurrentNode LastSeen(NodeRecord& record) const;

  /// Returns the record's latest node while it is cached. Unlike LastSeen(), does not mark the node
  /// as recently used.
  [[nodiscard]] static NodePtr Held(NodeRecord& record) {
    const MutexLock lock(record.mutex);
    return record.node;
  }

  /// True if a node was seen at the record's path. False if the path was only looked up, and it is
  /// not known what is there.
  [[nodiscard]] static bool WasNode(NodeRecord& record) {
    const MutexLock lock(record.mutex);
    return record.was_array || record.documents || record.shape;
  }

  /// Finds the file or folder of an id; nullopt for an id that was never allocated. Takes no lock
  /// if the thread's last call was for the same array.
  [[nodiscard]] std::optional<Target> Resolve(NodeId id) const;

  /// Returns the latest range of the array at the record's path, even if a group has replaced the
  /// array since. Null if the node was never an array, or its chunks were evicted.
  [[nodiscard]] RangePtr RangeOf(NodeRecord& record) const;

  /// The record of a path that was looked up before; null if the path was not looked up.
  [[nodiscard]] NodeRecord* Find(std::string_view path) const;

  /// True if a node below the path was looked up before.
  [[nodiscard]] bool HasBelow(std::string_view path) const;

  /// Returns how the record's node has changed since the last call. `is_there` is true if the node
  /// still exists in the store. After a call with false, the reappearance of the node counts as a
  /// change.
  [[nodiscard]] TakenChange TakeChange(NodeRecord& record, bool is_there);

  using Clock = std::chrono::steady_clock;
  /// Drops layouts that were replaced at least kReplacedRangeGrace ago. Returns when the next
  /// layout must be dropped; max() if none is left.
  Clock::time_point Sweep(Clock::time_point now);

  /// Evicts nodes until `bytes` bytes are freed or no node is left. Called when memory is short.
  void Evict(size_t bytes) {
    EvictDownTo(held_bytes_ - std::min<size_t>(held_bytes_, bytes), true);
  }

  /// The memory and the earlier versions of all epoch tables, including tables of replaced layouts
  /// that have not been dropped yet.
  [[nodiscard]] EpochTable::Usage& epoch_usage() { return *epoch_usage_; }
  [[nodiscard]] std::vector<std::pair<NodeRecord*, std::shared_ptr<EpochTable>>> EpochTables()
      const;

  /// The number of arrays used since the table was made.
  [[nodiscard]] uint64_t arrays() const { return arrays_.load(std::memory_order_relaxed); }

 private:
  struct Span {
    uint64_t first = 0;
    uint64_t count = 0;
    NodeRecord* record = nullptr;  // set if the ids belong to a node
    RangeRecord* range = nullptr;  // set if the ids belong to a segment of a range
    size_t segment = 0;
  };
  static constexpr uint64_t kHighStart = IdJournal::kHighStart;

  // Restores the nodes to which the previous process assigned ids. Rejects the journal if any node
  // now has a different number of positions, because ids would then refer to files of other nodes.
  // Only the constructor calls it, so it needs no mutex.
  void Inherit() NO_THREAD_SAFETY_ANALYSIS;
  // True if each segment has exactly as many positions as `range` needs for its rows.
  bool Fits(const RangeRecord& positions, const ArrayRange& range) const;
  // Makes the ids of `span` visible to Resolve(), which takes no lock. `span` must be complete.
  void Publish(const Span& span) REQUIRES(mutex_);
  // Records that the node is an array.
  void SetWasArray(NodeRecord& record);
  // Adds a record to held_.
  void Hold(NodeRecord* record);
  // Replaces the record's snapshot by `node`, and updates its epoch and range.
  void Replace(NodeRecord& record, const NodePtr& node) REQUIRES(record.mutex);
  // Returns the range of an array, from its record or a new one; null if no positions are left.
  RangePtr RefreshRange(const Node& node, NodeRecord& record) REQUIRES(record.mutex);
  // Allocates positions for the first `rows` rows of a range; false if not enough are left.
  bool Cover(RangeRecord& positions, const ArrayRange& range, uint64_t rows) REQUIRES(mutex_);

  // Evicts nodes that were not used recently, until the rest takes at most `bytes`. `all`: also
  // evicts the few nodes that are kept regardless of their size.
  void EvictDownTo(size_t bytes, bool all);

  const ViewSet listed_views_;
  const size_t node_bytes_;
  const std::shared_ptr<EpochTable::Usage> epoch_usage_;
  IdJournal& journal_;
  std::atomic<uint64_t> arrays_ = 0;
  mutable SharedMutex mutex_;
  // The keys are views of NodeRecord::path.
  std::unordered_map<std::string_view, NodeRecord*> by_path_ GUARDED_BY(mutex_);
  std::deque<NodeRecord> records_ GUARDED_BY(mutex_);
  // The public members of a RangeRecord also need this mutex, except `record`, which is constant.
  std::deque<RangeRecord> ranges_ GUARDED_BY(mutex_);
  // The ranges of replaced layouts, oldest replacement first.
  std::deque<std::pair<Clock::time_point, RangeRecord*>> replaced_ GUARDED_BY(mutex_);
  AppendList<Span> low_, high_;  // each sorted by `first`; read without the lock

  std::atomic<size_t> held_bytes_ = 0;
  Mutex held_mutex_;                                      // never held together with another mutex
  std::deque<NodeRecord*> held_ GUARDED_BY(held_mutex_);  // records with a node, in eviction order
};

}  // namespace zarrfs
