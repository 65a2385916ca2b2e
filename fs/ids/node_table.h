// NodeTable: node ids <-> what they represent.
//
// A node id is a 64-bit number that encodes its meaning: 16 bits of epoch above 48 bits of
// position. Positions are allocated in ranges that are never reused:
//
//   1                   the root of the mount
//   a block per node    its folder in each view, and the views' metadata files
//   ranges per array    for its chunk files and chunk folders (array_range.h)
//
// Within a range everything is arithmetic; the range is found by binary search. So memory grows
// with the number of arrays used, never with chunks, and FORGET has nothing to do. What is known of
// an array besides its positions is evicted with its node if that was not used for long, and is
// loaded again with it: a target may be unloaded.
//
// The epoch of a chunk file is that of its stored object (EpochTable); of a metadata file, the
// number of changes to its node's metadata; of a consolidated one, the number of changes to its
// text. An id with an outdated epoch represents content that is gone: ESTALE. An array whose layout
// changes gets a new range; the folders of the old one lead to the new one for a while.
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
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/ids/array_range.h"
#include "fs/ids/file_kind.h"
#include "fs/ids/id_journal.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs {

/// A node of the store that was looked up before. Lives as long as the process.
struct NodeRecord {
  std::string path;
  uint64_t block = 0;  // first position of its block

  std::atomic<bool> was_used = false;   // since Evict() last considered it
  std::atomic<bool> was_array = false;  // at any time
  std::atomic<uint64_t> changes = 0;    // reported by the store (AssembledFiles)

  std::mutex mutex;              // guards the rest
  NodePtr node;                  // latest snapshot; null once evicted
  RangePtr current;              // the chunks of `node`, if any
  size_t bytes = 0;              // charged for `node`
  RangeRecord* range = nullptr;  // of the array in the latest snapshot
  uint32_t document_epoch = 0;
  // Identifies all documents in this epoch, once a node was seen; evicted with it.
  std::optional<Digest> documents;
  // Previous documents, for programs that opened them then; latest last.
  std::vector<std::pair<uint32_t, NodePtr>> past_documents;  // by epoch
  static constexpr size_t kMaxPastDocuments = 4;
  bool is_group = false;  // when last readable: `range` belongs to an array before it
  // For TakeChange(): identifies the names and their permissions; and whether it changed since the
  // last TakeChange().
  std::optional<uint64_t> shape;
  bool is_another = false;
  std::vector<RangeRecord*> ranges;  // of the arrays since then; latest last

  [[nodiscard]] NodeId FolderId(size_t view) const { return MakeId(block + view * kSlots, 0); }
  [[nodiscard]] NodeId DocumentId(size_t view, size_t document, uint32_t epoch) const {
    return MakeId(block + view * kSlots + 1 + document, epoch);
  }
  static constexpr uint64_t kSlots = 1 + kMaxDocuments;
  static constexpr uint64_t kBlock = kMaxViews * kSlots;
};

/// The current snapshot of a node, with the data of its ids.
struct CurrentNode {
  NodeRecord* record = nullptr;
  NodePtr node;
  uint32_t document_epoch = 0;
  RangePtr range;
};

/// How a node changed since the last query.
struct TakenChange {
  bool is_another = false;       // names, ids of chunks or permissions changed, not just documents
  std::vector<RangePtr> ranges;  // chunks that it had since then
};

/// The meaning of a node id.
struct Target {
  // kUnloaded: an array file; which one is known once the record has its node again.
  enum class Kind { kRoot, kFolder, kDocument, kChunk, kChunkFolder, kUnloaded };
  Kind kind = Kind::kRoot;
  FileKind file = FileKind::kNone;  // kDocument, kChunk
  NodeRecord* record = nullptr;
  size_t view = 0;
  size_t document = 0;        // kDocument
  RangePtr range;             // kChunk, kChunkFolder
  InnerIndex chunk{};         // kChunk
  ChunkCoordinates prefix{};  // kChunkFolder: `level` coordinates
  size_t level = 0;
  uint16_t epoch = 0;
};

/// How long the chunks of a replaced layout are kept.
inline constexpr std::chrono::seconds kReplacedRangeGrace{60};

/// A list that grows at its end and is read without a lock.
///
/// Elements lie in blocks, each twice as large as the previous one, so none ever moves. Append() is
/// for one thread at a time; everything else is thread-safe.
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

  /// `index` < size().
  [[nodiscard]] const T& operator[](size_t index) const {
    const size_t block = BlockOf(index);
    return blocks_[block][index - FirstOf(block)];
  }

  /// The last element whose `key` is not above `value`, or null. Elements must be sorted by it.
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
  /// `listed_views`: those in which a walk of the mount finds a file (for link counts). Caches the
  /// most recently used nodes, about `node_bytes` bytes. Continues with the ids in `journal`, which
  /// must outlive this object.
  NodeTable(const ViewSet& listed_views, IdJournal& journal, size_t node_bytes = SIZE_MAX);

  /// The record of the node's path, updated with `node`, or with a later snapshot. kUnsupported
  /// once so many huge arrays were used that no positions are left.
  [[nodiscard]] Result<CurrentNode> Refresh(const NodePtr& node);

  /// The record of a path, even if no node was seen there: it may be unreadable. kUnsupported as in
  /// Refresh().
  [[nodiscard]] Result<NodeRecord*> RecordOf(const std::string& path);

  /// The record's latest node, while it is cached, with its range even if that node is damaged and
  /// has none. `node` is null if none was seen or it was evicted.
  [[nodiscard]] CurrentNode LastSeen(NodeRecord& record) const;

  /// nullopt for an id that was never allocated. Takes no lock if the thread asks for the same
  /// array again.
  [[nodiscard]] std::optional<Target> Resolve(NodeId id) const;

  /// The chunks of the record's array in its latest snapshot; null if it is no array, or they were
  /// evicted.
  [[nodiscard]] RangePtr RangeOf(NodeRecord& record) const;

  /// The record of a path that was looked up before, or null.
  [[nodiscard]] NodeRecord* Find(std::string_view path) const;

  /// Whether a node below the path was looked up before.
  [[nodiscard]] bool HasBelow(std::string_view path) const;

  /// How the record's node has changed since the last call. `is_there`: false if it is no longer in
  /// the store, so that its return counts as a change.
  [[nodiscard]] TakenChange TakeChange(NodeRecord& record, bool is_there);

  using Clock = std::chrono::steady_clock;
  /// Drops layouts that were replaced kReplacedRangeGrace ago. Returns when to call it again; max()
  /// if none are left.
  Clock::time_point Sweep(Clock::time_point now);

  /// Memory is short: evicts nodes of `bytes`, or all nodes.
  void GiveUp(size_t bytes) { Evict(held_bytes_ - std::min<size_t>(held_bytes_, bytes), true); }

  /// The memory of all tables of epochs, including those of layouts not yet dropped.
  [[nodiscard]] EpochTable::Usage& epoch_usage() { return *epoch_usage_; }
  [[nodiscard]] std::vector<std::pair<NodeRecord*, std::shared_ptr<EpochTable>>> EpochTables()
      const;

  /// Number of arrays used since the table was made.
  [[nodiscard]] uint64_t arrays() const { return arrays_.load(std::memory_order_relaxed); }

 private:
  struct Span {
    uint64_t first = 0;
    uint64_t count = 0;
    NodeRecord* record = nullptr;  // a node's block, or
    RangeRecord* range = nullptr;  // a segment of an array
    size_t segment = 0;
  };
  static constexpr uint64_t kHighStart = IdJournal::kHighStart;

  // Restores the nodes to which the previous process gave ids. A journal in which a node has a
  // different number of positions is rejected: its ids would represent files of other nodes.
  void Inherit();
  // Whether each segment has exactly the positions that the range needs.
  bool Fits(const RangeRecord& positions, const ArrayRange& range) const;
  // From now on Resolve(), which takes no lock, finds the span, which must be complete.
  void Publish(const Span& span);
  // Records that the record has a node now.
  void Hold(NodeRecord* record);
  // Takes another snapshot of the record's node. The caller holds the record's mutex.
  void Replace(NodeRecord& record, const NodePtr& node);
  // The range of an array that its record knows, or a new one; null if no positions are left.
  RangePtr RefreshRange(const Node& node, NodeRecord& record);
  // Allocates positions for the first `rows` rows of a range; false if none are left.
  bool Cover(RangeRecord& positions, const ArrayRange& range, uint64_t rows);

  // Evicts nodes, unless recently used, until the rest takes at most `bytes`. `all`: including the
  // few that are kept regardless of their size.
  void Evict(size_t bytes, bool all);

  const ViewSet listed_views_;
  const size_t node_bytes_;
  const std::shared_ptr<EpochTable::Usage> epoch_usage_ = std::make_shared<EpochTable::Usage>();
  IdJournal& journal_;
  std::atomic<uint64_t> arrays_ = 0;
  mutable std::shared_mutex mutex_;                            // guards all below
  std::unordered_map<std::string_view, NodeRecord*> by_path_;  // keys point into the records
  std::deque<NodeRecord> records_;
  std::deque<RangeRecord> ranges_;
  std::deque<std::pair<Clock::time_point, RangeRecord*>> replaced_;  // by age
  AppendList<Span> low_, high_;  // each sorted by first; read without the lock

  std::atomic<size_t> held_bytes_ = 0;
  std::mutex held_mutex_;         // guards the next; never held together with another one
  std::deque<NodeRecord*> held_;  // records with a node, in order of eviction
};

}  // namespace zarrfs
