// NodeTable: node ids <-> what they stand for.
//
// A node id is a 64-bit number that says by itself what it is: 16 bits of epoch over 48 bits of
// position. Positions are handed out in ranges that are never reused:
//
//   1                   the root of the mount
//   a block per node    its folder in each view, and the views' metadata files
//   a range per array   and layout of its chunks: the chunk files, in row-major order (views that
//                       serve the same bytes share them: one inode), and the chunk folders of
//                       each view, row-major, level by level
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

#include "fs/tree/append_list.h"
#include "fs/tree/epoch_table.h"
#include "zarrcore/base/digest.h"
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

/// The chunk files and chunk folders of one layout of one array, as the views show them. Immutable
/// but for the epochs.
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
  /// The epoch of the version of a stored object that a chunk was found in, which becomes the
  /// current one.
  uint32_t ObserveEpoch(const ChunkLocation& location) const;
  /// Likewise for reads, which may still hold a version that a look-up has found superseded:
  /// nullopt if it was not the last one observed. Takes a lock only the first time for an
  /// OpenShard.
  [[nodiscard]] std::optional<uint32_t> KnownEpoch(const ChunkLocation& location) const;
  /// The position of a chunk file.
  [[nodiscard]] uint64_t PositionOf(size_t view, InnerIndex chunk) const {
    return views[view].files + ToNumber(chunk);
  }
  /// Id of the folder of chunks that begin with `prefix` (its level is prefix.size()).
  [[nodiscard]] NodeId FolderId(size_t view, std::span<const uint64_t> prefix) const;
};
using RangePtr = std::shared_ptr<const ArrayRange>;

/// The positions of an ArrayRange. Lives as long as the mount.
class RangeRecord {
 public:
  NodeRecord* record = nullptr;
  uint64_t first = 0;
  /// Stands for what the files hold: where the chunks lie, and what the views make of them. While
  /// it is the same, so are the positions. (A digest, because it is kept of every array that was
  /// ever looked at, and what it is made from takes most of a KiB.)
  Digest files;
  /// ChunkSource::id(). Ranges of one source share their epochs, which OpenShards have a note of.
  uint64_t source = 0;
  std::shared_ptr<EpochTable> epochs;

  /// The array's chunks, while its NodeRecord or somebody else has them; else null.
  [[nodiscard]] RangePtr Get() const;
  /// The same, without a lock if this thread asked for them last.
  [[nodiscard]] RangePtr GetAgain() const;
  void Set(const RangePtr& range);
  /// Keeps the chunks of a layout that was replaced, or that cannot be read: programs may be in
  /// its folders still.
  void Keep();
  /// No thread keeps the chunks for GetAgain() any more, once it asks again.
  void Release() { version_.fetch_add(1, std::memory_order_release); }

 private:
  static std::atomic<uint64_t> last_id_;
  const uint64_t id_ = ++last_id_;     // of the process: records of an earlier mount are others
  std::atomic<uint64_t> version_ = 0;  // changes with what follows
  mutable std::mutex mutex_;           // guards the rest
  std::weak_ptr<const ArrayRange> range_;
  RangePtr kept_;
};

/// A node of the store that was looked up once. Lives as long as the mount.
struct NodeRecord {
  std::string path;
  uint64_t block = 0;  // first position of its block

  std::atomic<bool> was_used = false;  // since Evict() considered it last

  std::mutex mutex;              // guards the rest
  NodePtr node;                  // as seen last; null once it was evicted
  RangePtr current;              // the chunks of `node`, if it has any
  size_t bytes = 0;              // that `node` is charged for
  RangeRecord* range = nullptr;  // of the array as seen last
  bool was_array = false;
  uint32_t document_epoch = 0;
  // Stands for all documents in this epoch, once a node was seen; they are evicted with it.
  std::optional<Digest> documents;
  // What its documents were before, for programs that opened them then: the latest last.
  std::vector<std::pair<uint32_t, NodePtr>> past_documents;  // by epoch
  static constexpr size_t kMaxPastDocuments = 4;
  bool is_group = false;  // as of when it could be read last: `range` is of an array before it
  // For TakeChange(): what decides which names there are and who may use them, and whether it is
  // another than when the change was taken last.
  uint64_t shape = 0;
  bool is_another = true;
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
  NodeRecord* record = nullptr;
  size_t view = 0;
  size_t document = 0;        // kDocument
  RangePtr range;             // kChunk, kChunkFolder
  InnerIndex chunk{};         // kChunk
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

  /// How many arrays were looked at since the table was made.
  [[nodiscard]] uint64_t arrays() const { return arrays_.load(std::memory_order_relaxed); }

 private:
  struct Span {
    uint64_t first = 0;
    uint64_t count = 0;
    NodeRecord* record = nullptr;  // a node's block, or
    RangeRecord* range = nullptr;  // an array's range
  };
  // Numbers below 2^32 are for what 32-bit programs can stat: all but huge arrays.
  static constexpr uint64_t kHighStart = uint64_t{1} << 32;
  static constexpr uint64_t kHighCount = uint64_t{1} << 28;

  // The first of so many positions; nullopt if none are left.
  std::optional<uint64_t> Allocate(uint64_t count);
  // Resolve(), which takes no lock, finds the span from now on: what it points to is complete.
  void Publish(const Span& span);
  // Takes note of another snapshot of the record's node, whose mutex is held.
  void Replace(NodeRecord& record, const NodePtr& node);
  // The range of an array that its record knows, or a new one; null if no positions are left.
  RangePtr RefreshRange(const Node& node, NodeRecord& record);
  // The range of an array, with positions that begin at 0, and how many it needs.
  [[nodiscard]] std::pair<std::shared_ptr<ArrayRange>, uint64_t> MakeRange(const Node& node) const;
  static void FillTarget(const RangePtr& range, uint64_t position, Target& target);

  // Evicts nodes that were not used for long.
  void Evict();

  const uint32_t shown_views_;
  const size_t node_bytes_;
  std::atomic<uint64_t> arrays_ = 0;
  mutable std::shared_mutex mutex_;                            // guards all below
  std::unordered_map<std::string_view, NodeRecord*> by_path_;  // names are the records'
  std::deque<NodeRecord> records_;
  std::deque<RangeRecord> ranges_;
  AppendList<Span> low_, high_;  // each sorted by first; read without the lock
  uint64_t next_low_ = 16;
  uint64_t next_high_ = kHighStart;

  std::atomic<size_t> held_bytes_ = 0;
  std::mutex held_mutex_;         // guards the next; never held together with another one
  std::deque<NodeRecord*> held_;  // those that have a node, in the order in which they are evicted
};

}  // namespace zarrfs

#endif  // FS_TREE_NODE_TABLE_H_
