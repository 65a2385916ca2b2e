// NodeTable: node ids <-> what they stand for.
//
// A node id is a 64-bit number that says by itself what it is: 16 bits of epoch over 48 bits of
// position. Positions are given out in ranges that are never taken back:
//
//   1                  the mount's root
//   a block a node     of the store: a folder in each view, and the views' metadata files
//   a range an array   and layout of its chunks: the chunk files, numbered row-major over the grid
//   of
//                      innermost chunks (views that serve the same bytes share them: one inode),
//                      and the chunk folders of each view, numbered row-major, level by level
//
// Within a range all is arithmetic; the range is found by binary search. So memory grows with the
// number of arrays looked at, never with chunks, and FORGET has nothing to do. What is known of an
// array beyond its positions goes with its node, if that was not looked up for long, and comes back
// with it: a target may have to be loaded.
//
// The epoch of a chunk file is that of the stored object it lies in (EpochTable); of a metadata
// file, how often its node's metadata changed; of a consolidated one, how often its text did. An id
// whose epoch is not the current one stands for content that is gone: ESTALE. An array whose layout
// changes gets a new range; the folders of the old one lead on to the new.
#ifndef FS_TREE_NODE_TABLE_H_
#define FS_TREE_NODE_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/tree/epoch_table.h"
#include "fs/tree/source_shim.h"
#include "zarrcore/view/hierarchy.h"

namespace zarrfs {

using NodeId = uint64_t;

inline constexpr NodeId kRootId = 1;
/// The place, among a folder's documents, of the one that NodeView::consolidated names.
inline constexpr size_t kConsolidatedDocument = kMaxDocuments - 1;
inline constexpr int kPositionBits = 48;

[[nodiscard]] constexpr uint64_t PositionOf(NodeId id) {
  return id & ((NodeId{1} << kPositionBits) - 1);
}
[[nodiscard]] constexpr uint16_t EpochOf(NodeId id) {
  return static_cast<uint16_t>(id >> kPositionBits);
}
/// Epochs that no version has: of inodes that stand for a chunk that cannot be read, and for one
/// that is not stored and is a file of fill values.
inline constexpr uint16_t kUnreadableEpoch = 0xffff;
inline constexpr uint16_t kFillEpoch = 0xfffe;
/// Versions have epochs modulo this.
inline constexpr uint32_t kEpochs = 0xfffe;

[[nodiscard]] constexpr NodeId MakeId(uint64_t position, uint32_t epoch) {
  return (NodeId{epoch % kEpochs} << kPositionBits) | position;
}
[[nodiscard]] constexpr NodeId MakeUnreadableId(uint64_t position) {
  return (NodeId{kUnreadableEpoch} << kPositionBits) | position;
}
[[nodiscard]] constexpr NodeId MakeFillId(uint64_t position) {
  return (NodeId{kFillEpoch} << kPositionBits) | position;
}

struct NodeRecord;

/// The chunk files and chunk folders of one layout of one array, as some views show them. Immutable
/// but for the epochs, which ranges of the same chunks share.
struct RangeRecord;

struct ArrayRange {
  struct ViewPart {
    bool shown = false;
    ChunkNaming naming;
    ChunkEncoding encoding;
    uint32_t encoding_number = 0;  // the first view that serves the same files
    std::shared_ptr<const FillChunk> fill_chunk;
    uint64_t files = 0;         // position of chunk 0
    uint64_t folders = 0;       // position of the first chunk folder
    uint64_t folder_count = 0;  // 0 where chunks lie in the array's own folder
    uint32_t links = 1;         // views that serve the same files

    /// Which sizes of stored chunks have files that can be read.
    [[nodiscard]] Sizes sizes() const { return encoding.as_stored ? Sizes::kAny : Sizes::kChecked; }
  };

  NodeRecord* record = nullptr;
  std::shared_ptr<ChunkSource> chunks;
  std::array<ViewPart, kMaxViews> views;
  std::vector<uint64_t> folder_offsets;  // of each level of chunk folders, relative to `folders`
  std::shared_ptr<EpochTable> epochs;

  [[nodiscard]] size_t rank() const { return chunks->layout().inner_grid.rank(); }
  /// Id of the folder of chunks that begin with `prefix` (its level is prefix.size()).
  [[nodiscard]] NodeId FolderId(size_t view, std::span<const uint64_t> prefix) const;
};
using RangePtr = std::shared_ptr<const ArrayRange>;

/// The positions of an ArrayRange. Lives as long as the mount.
struct RangeRecord {
  NodeRecord* record = nullptr;
  uint64_t first = 0;
  // Equal ones have the same positions: where the chunks lie, and how the views show them.
  Digest chunks_fingerprint;
  Digest views_fingerprint;
  std::shared_ptr<EpochTable> epochs;

  // Both guarded by the table's mutex. A current range lives with its node.
  std::weak_ptr<const ArrayRange> range;
  RangePtr kept;  // not the node's any more, for programs that are still in it
};

/// A node of the store that was looked up once. Lives as long as the mount.
struct NodeRecord {
  std::string path;
  uint64_t block = 0;  // first position of its block

  std::atomic<bool> was_used = false;  // since the last look at what to give up

  std::mutex mutex;                             // guards the rest
  NodePtr node;                                 // as seen last; null once it was given up
  size_t bytes = 0;                             // that it is charged for
  std::optional<Digest> documents_fingerprint;  // once a node was seen
  uint32_t document_epoch = 0;
  // What its documents were before, for programs that opened them then: the latest last.
  std::vector<std::pair<uint32_t, NodePtr>> past_documents;  // by epoch
  static constexpr size_t kMaxPastDocuments = 4;
  RangeRecord* range = nullptr;  // of the array as seen last
  bool was_array = false;
  bool is_group = false;  // as of when it could be read last: `range` is of an array before it

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

/// What a node id stands for.
struct Target {
  // kUnloaded: of an array; which, is known once the record's node was seen again.
  enum class Kind { kRoot, kFolder, kDocument, kChunk, kChunkFolder, kUnloaded };
  Kind kind = Kind::kRoot;
  NodeRecord* record = nullptr;
  size_t view = 0;
  size_t document = 0;        // kDocument
  RangePtr range;             // kChunk, kChunkFolder
  uint64_t chunk = 0;         // kChunk
  ChunkCoordinates prefix{};  // kChunkFolder: `level` coordinates
  size_t level = 0;
  uint16_t epoch = 0;
};

class NodeTable {
 public:
  /// `shown_views`: bit v set if the mount shows view v (for link counts). Of nodes it holds those
  /// of about so many bytes that were seen last.
  explicit NodeTable(uint32_t shown_views, size_t node_bytes = SIZE_MAX)
      : shown_views_(shown_views), node_bytes_(node_bytes) {}

  /// The record of the node's path, brought up to date with `node`. kUnsupported once so many huge
  /// arrays were looked at that the positions are used up.
  [[nodiscard]] Result<CurrentNode> Refresh(const NodePtr& node);

  /// The record of a path, also one that no node was seen at: what is there cannot be read.
  /// kUnsupported as in Refresh().
  [[nodiscard]] Result<NodeRecord*> RecordOf(const std::string& path);

  /// The record's node as seen last, while it is kept; its range also where that node, being
  /// damaged, has none. Without a node (`node` is null) if it was never seen or is not kept.
  [[nodiscard]] CurrentNode LastSeen(NodeRecord& record) const;

  /// nullopt for an id that was never given out.
  [[nodiscard]] std::optional<Target> Resolve(NodeId id) const;

  /// The chunks of the record's array as seen last; null if it is none, or nobody has it any more.
  [[nodiscard]] RangePtr RangeOf(NodeRecord& record) const;

  /// The record of a path that was looked up once, or null.
  [[nodiscard]] NodeRecord* Find(std::string_view path) const;

  /// How many arrays were looked at since the table was made.
  [[nodiscard]] uint64_t arrays() const { return arrays_.load(std::memory_order_relaxed); }

 private:
  struct Span {
    uint64_t first;
    uint64_t count;
    NodeRecord* record;  // a node's block, or
    RangeRecord* range;  // an array's range
  };
  // Numbers below 2^32 are for what 32-bit programs can stat: all but huge arrays.
  static constexpr uint64_t kHighStart = uint64_t{1} << 32;
  static constexpr uint64_t kHighCount = uint64_t{1} << 28;

  // nullopt if no positions are left.
  std::optional<uint64_t> Allocate(uint64_t count, NodeRecord* record, RangeRecord* range);
  // Takes note of another snapshot of the record's node, whose mutex is held.
  void Replace(NodeRecord& record, const NodePtr& node);
  // The range of the node that its record knows, or a new one; null if no positions are left.
  RangePtr RefreshRange(const Node& node, NodeRecord* record);
  static void FillTarget(const RangePtr& range, uint64_t position, Target& target);

  // Gives up nodes that were not used for long.
  void Evict();

  const uint32_t shown_views_;
  const size_t node_bytes_;
  std::atomic<uint64_t> arrays_ = 0;
  mutable std::shared_mutex mutex_;                            // guards all below
  std::unordered_map<std::string_view, NodeRecord*> by_path_;  // names are the records'
  std::deque<NodeRecord> records_;
  std::deque<RangeRecord> ranges_;
  std::vector<Span> low_, high_;  // each sorted by first
  uint64_t next_low_ = 16;
  uint64_t next_high_ = kHighStart;

  std::atomic<size_t> held_bytes_ = 0;
  std::mutex held_mutex_;         // guards the next; never held together with another one
  std::deque<NodeRecord*> held_;  // those that have a node, in the order in which they are given up
};

}  // namespace zarrfs

#endif  // FS_TREE_NODE_TABLE_H_
