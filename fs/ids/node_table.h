// NodeTable: node ids <-> what they stand for.
//
// A node id is a 64-bit number that says by itself what it is: 16 bits of epoch over 48 bits of
// position. Positions are handed out in ranges that are never reused:
//
//   1                   the root of the mount
//   a block per node    its folder in each view, and the views' metadata files
//   ranges per array    for its chunk files and chunk folders (array_range.h)
//
// Within a range all is arithmetic; the range is found by binary search. So memory grows with the
// number of arrays looked at, never with chunks, and FORGET has nothing to do. What is known of an
// array beyond its positions goes with its node, if that was not looked up for long, and comes back
// with it: a target may have to be loaded.
//
// The epoch of a chunk file is that of the stored object it lies in (EpochTable); of a metadata
// file, how often its node's metadata changed; of a consolidated one, how often its text did. An id
// whose epoch is not the current one stands for content that is gone: ESTALE. An array whose layout
// changes gets a new range; the folders of the old one lead on to the new for a while.
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

/// A node of the store that was looked up once. Lives as long as the process.
struct NodeRecord {
  std::string path;
  uint64_t block = 0;  // first position of its block

  std::atomic<bool> was_used = false;   // since Evict() considered it last
  std::atomic<bool> was_array = false;  // once
  std::atomic<uint64_t> changes = 0;    // that the store has reported (AssembledFiles)

  std::mutex mutex;              // guards the rest
  NodePtr node;                  // as seen last; null once it was evicted
  RangePtr current;              // the chunks of `node`, if it has any
  size_t bytes = 0;              // that `node` is charged for
  RangeRecord* range = nullptr;  // of the array as seen last
  uint32_t document_epoch = 0;
  // Stands for all documents in this epoch, once a node was seen; they are evicted with it.
  std::optional<Digest> documents;
  // What its documents were before, for programs that opened them then: the latest last.
  std::vector<std::pair<uint32_t, NodePtr>> past_documents;  // by epoch
  static constexpr size_t kMaxPastDocuments = 4;
  bool is_group = false;  // as of when it could be read last: `range` is of an array before it
  // For TakeChange(): what decides which names there are and who may use them; whether it is
  // another than when the change was taken last.
  std::optional<uint64_t> shape;
  bool is_another = false;
  std::vector<RangeRecord*> ranges;  // of the arrays since then, the latest last

  [[nodiscard]] NodeId FolderId(size_t view) const { return MakeId(block + view * kSlots, 0); }
  [[nodiscard]] NodeId DocumentId(size_t view, size_t document, uint32_t epoch) const {
    return MakeId(block + view * kSlots + 1 + document, epoch);
  }
  static constexpr uint64_t kSlots = 1 + kMaxDocuments;
  static constexpr uint64_t kBlock = kMaxViews * kSlots;
};

/// A node as it is now, with what its ids need.
struct CurrentNode {
  NodeRecord* record = nullptr;
  NodePtr node;
  uint32_t document_epoch = 0;
  RangePtr range;
};

/// How a node changed since that was asked last.
struct TakenChange {
  bool is_another = false;  // other names, ids of chunks, or permissions: not just other documents
  std::vector<RangePtr> ranges;  // chunks that it had since then
};

/// What a node id stands for.
struct Target {
  // kUnloaded: of an array; which, is known once the record's node was seen again.
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

/// How long the chunks of a layout that was replaced are kept.
inline constexpr std::chrono::seconds kReplacedRangeGrace{60};

/// A list that grows at its end and is read without a lock.
///
/// Elements lie in blocks, each twice as large as the one before, so that none ever moves. Append()
/// is for one thread at a time; everything else is thread-safe.
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

  /// The last element whose `key` is not above `value`, or null. Elements are sorted by it.
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
  /// `listed_views`: those in which a walk of the mount meets a file (for link counts). Of nodes it
  /// holds those of about so many bytes that were seen last.
  /// Goes on with the ids that `journal` has, which lives as long.
  NodeTable(const ViewSet& listed_views, IdJournal& journal, size_t node_bytes = SIZE_MAX);

  /// The record of the node's path, brought up to date with `node`, or with what was seen later.
  /// kUnsupported once so many huge arrays were looked at that the positions are used up.
  [[nodiscard]] Result<CurrentNode> Refresh(const NodePtr& node);

  /// The record of a path, also one that no node was seen at: what is there cannot be read.
  /// kUnsupported as in Refresh().
  [[nodiscard]] Result<NodeRecord*> RecordOf(const std::string& path);

  /// The record's node as seen last, while it is kept; its range also where that node, being
  /// damaged, has none. Without a node (`node` is null) if it was never seen or is not kept.
  [[nodiscard]] CurrentNode LastSeen(NodeRecord& record) const;

  /// nullopt for an id that was never given out. Takes no lock where the thread asks for the same
  /// array again.
  [[nodiscard]] std::optional<Target> Resolve(NodeId id) const;

  /// The chunks of the record's array as seen last; null if it is none, or nobody has it any more.
  [[nodiscard]] RangePtr RangeOf(NodeRecord& record) const;

  /// The record of a path that was looked up once, or null.
  [[nodiscard]] NodeRecord* Find(std::string_view path) const;

  /// Whether a node below the path was looked up once.
  [[nodiscard]] bool HasBelow(std::string_view path) const;

  /// How the record's node differs from when this was asked last. `is_there`: false if it is not
  /// in the store now, which is a difference to what comes next.
  [[nodiscard]] TakenChange TakeChange(NodeRecord& record, bool is_there);

  using Clock = std::chrono::steady_clock;
  /// Drops layouts that were replaced kReplacedRangeGrace ago. When to call it again; max() if
  /// there are none.
  Clock::time_point Sweep(Clock::time_point now);

  /// Memory is short: evicts nodes of `bytes`, or all there are.
  void GiveUp(size_t bytes) { Evict(held_bytes_ - std::min<size_t>(held_bytes_, bytes), true); }

  /// What all tables of epochs take, and those of layouts that are not dropped.
  [[nodiscard]] EpochTable::Usage& epoch_usage() { return *epoch_usage_; }
  [[nodiscard]] std::vector<std::pair<NodeRecord*, std::shared_ptr<EpochTable>>> EpochTables()
      const;

  /// How many arrays were looked at since the table was made.
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

  // Makes what the process before has given ids of. A journal in which a node has another number of
  // positions is rejected: its ids would stand for files of other nodes.
  void Inherit();
  // Whether the positions of each segment are as many as the range needs.
  bool Fits(const RangeRecord& positions, const ArrayRange& range) const;
  // Resolve(), which takes no lock, finds the span from now on: what it points to is complete.
  void Publish(const Span& span);
  // Remembers that the record has a node now.
  void Hold(NodeRecord* record);
  // Takes note of another snapshot of the record's node, whose mutex is held.
  void Replace(NodeRecord& record, const NodePtr& node);
  // The range of an array that its record knows, or a new one; null if no positions are left.
  RangePtr RefreshRange(const Node& node, NodeRecord& record);
  // Gives positions to the first `rows` rows of a range; false if none are left.
  bool Cover(RangeRecord& positions, const ArrayRange& range, uint64_t rows);

  // Evicts nodes, unless they were used lately, until those that are held take no more than so many
  // bytes. `all`: also the few that are held however large they are.
  void Evict(size_t bytes, bool all);

  const ViewSet listed_views_;
  const size_t node_bytes_;
  const std::shared_ptr<EpochTable::Usage> epoch_usage_ = std::make_shared<EpochTable::Usage>();
  IdJournal& journal_;
  std::atomic<uint64_t> arrays_ = 0;
  mutable std::shared_mutex mutex_;                            // guards all below
  std::unordered_map<std::string_view, NodeRecord*> by_path_;  // names are the records'
  std::deque<NodeRecord> records_;
  std::deque<RangeRecord> ranges_;
  std::deque<std::pair<Clock::time_point, RangeRecord*>> replaced_;  // by age
  AppendList<Span> low_, high_;  // each sorted by first; read without the lock

  std::atomic<size_t> held_bytes_ = 0;
  std::mutex held_mutex_;         // guards the next; never held together with another one
  std::deque<NodeRecord*> held_;  // those that have a node, in the order in which they are evicted
};

}  // namespace zarrfs
