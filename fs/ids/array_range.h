// ArrayRange: the positions of the chunk files and chunk folders of one array.
//
// All chunks of one coordinate along axis 0 are a row. Rows get their positions in segments: the
// first has those that the array had when it was looked at first; each further one has the rows
// that it grew by, and room for as many as there were. So an array that is appended to along axis 0
// keeps its ids, and needs few segments. In a segment come the files, one block per encoding (views
// that serve the same bytes share them: one inode), then one block of folders per view that nests
// chunks: the folder of all ("c"), then those of one coordinate, of two, and so on, each row-major.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "fs/ids/epoch_table.h"
#include "fs/ids/file_kind.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs {

/// The number of a file or folder of a mount, an inode number: 16 bits of epoch over 48 bits
/// of position.
using NodeId = uint64_t;

inline constexpr NodeId kRootId = 1;
inline constexpr int kPositionBits = 48;

[[nodiscard]] constexpr uint64_t PositionOf(NodeId id) {
  return id & ((NodeId{1} << kPositionBits) - 1);
}
[[nodiscard]] constexpr uint16_t EpochOf(NodeId id) {
  return static_cast<uint16_t>(id >> kPositionBits);
}
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
class ArrayRange {
 public:
  struct Segment {
    uint64_t first_row = 0;
    uint64_t rows = 0;
    uint64_t position = 0;  // its first
  };

  struct ViewPart {
    bool shown = false;
    ChunkNaming naming;
    ChunkEncoding encoding;
    uint32_t encoding_number = 0;  // the first view that serves the same files
    std::shared_ptr<const FillChunk> fill_chunk;
    uint64_t file_block = 0;
    uint64_t folder_block = 0;
    bool has_folders = false;  // else chunks lie in the array's own folder
    uint64_t files = 0;        // position of chunk 0
    uint32_t links = 1;        // listed views that serve the same files, or this one

    /// Which sizes of stored chunks have files that can be read.
    [[nodiscard]] Sizes sizes() const { return encoding.as_stored ? Sizes::kAny : Sizes::kChecked; }
  };

  /// Where the chunk file or chunk folder at a position is. Neither: there is none any more.
  struct Place {
    size_t view = 0;
    std::optional<InnerIndex> chunk;
    std::optional<size_t> level;  // of a folder: how many coordinates of `prefix` it has
    ChunkCoordinates prefix{};
  };

  /// `listed_views`: as of NodeTable. Without segments yet.
  ArrayRange(const Node& node, NodeRecord* record, const ViewSet& listed_views);

  /// How many positions so many rows need in a segment, at least 1.
  [[nodiscard]] uint64_t PositionsOf(uint64_t rows) const;
  void SetSegments(std::vector<Segment> segments);

  [[nodiscard]] size_t rank() const { return chunks->layout().inner_grid.rank(); }
  [[nodiscard]] uint64_t rows() const;
  /// The epoch of the version of a stored object that a chunk was found in, which becomes the
  /// current one.
  uint32_t ObserveEpoch(const ChunkLocation& location) const;
  /// Likewise for reads, which may still hold a version that a look-up has found superseded:
  /// nullopt if it was not the last one observed. Takes a lock only the first time for an
  /// OpenShard.
  [[nodiscard]] std::optional<uint32_t> KnownEpoch(const ChunkLocation& location) const;
  /// The position of a chunk file.
  [[nodiscard]] uint64_t PositionOf(size_t view, InnerIndex chunk) const {
    const uint64_t number = ToNumber(chunk);
    const ViewPart& part = views[view];
    if (number < segments_[0].rows * chunks_per_row_) return part.files + number;
    return PositionInLaterSegment(part, number);
  }
  /// Id of the folder of chunks that begin with `prefix` (its level is prefix.size()).
  [[nodiscard]] NodeId FolderId(size_t view, std::span<const uint64_t> prefix) const;
  /// What has this position in a segment. `kind`: of the file, if it is a chunk's.
  [[nodiscard]] Place PlaceOf(size_t segment, uint64_t position, FileKind kind) const;

  NodeRecord* record;
  std::shared_ptr<ChunkSource> chunks;
  std::array<ViewPart, kMaxViews> views;
  std::shared_ptr<EpochTable> epochs;

 private:
  [[nodiscard]] const Segment& SegmentOf(uint64_t row) const;
  [[nodiscard]] uint64_t PositionInLaterSegment(const ViewPart& part, uint64_t chunk) const;
  [[nodiscard]] uint64_t FilesOf(const Segment& segment, const ViewPart& part) const;
  [[nodiscard]] uint64_t FoldersOf(const Segment& segment, const ViewPart& part) const;
  [[nodiscard]] uint64_t FoldersIn(uint64_t rows) const { return 1 + rows * folders_per_row_; }
  // The folder number `number` in a block of a segment.
  void FindFolder(const Segment& segment, uint64_t number, Place& place) const;

  std::vector<Segment> segments_;  // by rows, without gaps; never empty
  uint64_t chunks_per_row_ = 1;
  std::vector<uint64_t> widths_;  // folders of each level in a row, from level 1 on
  uint64_t folders_per_row_ = 0;
  uint64_t file_blocks_ = 0;
  uint64_t folder_blocks_ = 0;
};
using RangePtr = std::shared_ptr<const ArrayRange>;

/// How the chunks of an array are called, in a word: the rank, and of each view whether it shows
/// them, in what form. For who has only a note of the range (IdJournal::Range).
[[nodiscard]] uint64_t NamingOf(const ArrayRange& range);
struct NamingInView {
  size_t rank = 0;
  bool shown = false;
  ChunkNaming naming;
};
[[nodiscard]] NamingInView NamingIn(uint64_t word, size_t view);

/// The positions of an ArrayRange. Lives as long as the process.
class RangeRecord {
 public:
  NodeRecord* record = nullptr;
  uint32_t number = 0;        // in the journal
  bool is_inherited = false;  // from another process, and not used by this one yet
  /// Stands for what the files hold: where the chunks lie, but for how many rows there are, and
  /// what the views make of them. While it is the same, so are the positions. (A digest, because it
  /// is kept of every array that was ever looked at, and what it is made from takes most of a KiB.)
  Digest files;
  uint64_t rows = 0;  // of the array, which never shrank
  std::vector<ArrayRange::Segment> segments;
  /// ChunkSource::id(). Ranges of one source share their epochs, which OpenShards have a note of.
  uint64_t source = 0;
  std::shared_ptr<EpochTable> epochs;

  /// Rows that have positions.
  [[nodiscard]] uint64_t covered_rows() const {
    return segments.empty() ? 0 : segments.back().first_row + segments.back().rows;
  }

  /// The array's chunks, while its NodeRecord or somebody else has them; else null.
  [[nodiscard]] RangePtr Get() const;
  /// The same, without a lock if this thread asked for them last.
  [[nodiscard]] RangePtr GetAgain() const;
  void Set(const RangePtr& range);
  /// Keeps the chunks of a layout that was replaced, or that cannot be read: programs may be in
  /// its folders still.
  void Keep();
  /// No longer.
  void Drop();
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

}  // namespace zarrfs
