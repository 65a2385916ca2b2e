// ArrayRange: the positions of the chunk files and chunk folders of one array.
//
// All chunks with one coordinate along axis 0 are a row. Rows get their positions in segments: the
// first segment covers the rows that the array had at first use; each further one covers the rows
// added since, with room to double. So an array that is appended to along axis 0 keeps its ids, and
// needs few segments. A segment holds the files, one block per encoding (views that serve the same
// bytes share an inode), then one block of folders per view with nested chunks: the folder of all
// ("c"), then those of one coordinate, of two, and so on, each row-major.
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

/// The number of a file or folder of a mount, an inode number: 16 bits of epoch above 48 bits of
/// position.
using NodeId = uint64_t;

inline constexpr NodeId kRootId = 1;
inline constexpr int kPositionBits = 48;

[[nodiscard]] constexpr uint64_t PositionOf(NodeId id) {
  return id & ((NodeId{1} << kPositionBits) - 1);
}
[[nodiscard]] constexpr uint16_t EpochOf(NodeId id) {
  return static_cast<uint16_t>(id >> kPositionBits);
}
/// Epochs of versions are modulo this.
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

/// The chunk files and chunk folders of one layout of one array, in all views. Immutable except for
/// the epochs.
class ArrayRange {
 public:
  struct Segment {
    uint64_t first_row = 0;
    uint64_t rows = 0;
    uint64_t position = 0;  // first position
  };

  struct ViewPart {
    bool shown = false;
    ChunkNaming naming;
    ChunkEncoding encoding;
    uint32_t encoding_number = 0;  // first view that serves the same files
    std::shared_ptr<const FillChunk> fill_chunk;
    uint64_t file_block = 0;
    uint64_t folder_block = 0;
    bool has_folders = false;  // otherwise chunks lie in the array's own folder
    uint64_t files = 0;        // position of chunk 0
    uint32_t links = 1;        // number of listed views that serve the same files, or 1

    /// Which sizes of stored chunks are readable as files.
    [[nodiscard]] Sizes sizes() const { return encoding.as_stored ? Sizes::kAny : Sizes::kChecked; }
  };

  /// The chunk file or chunk folder at a position; neither if it no longer exists.
  struct Place {
    size_t view = 0;
    std::optional<InnerIndex> chunk;
    std::optional<size_t> level;  // for a folder: number of coordinates in `prefix`
    ChunkCoordinates prefix{};
  };

  /// `listed_views`: as in NodeTable. Has no segments yet.
  ArrayRange(const Node& node, NodeRecord* record, const ViewSet& listed_views);

  /// The number of positions that `rows` rows need in a segment, at least 1.
  [[nodiscard]] uint64_t PositionsOf(uint64_t rows) const;
  void SetSegments(std::vector<Segment> segments);

  [[nodiscard]] size_t rank() const { return chunks->layout().inner_grid.rank(); }
  [[nodiscard]] uint64_t rows() const;
  /// The epoch of the version of a stored object that a chunk was found in; makes it the current
  /// one.
  uint32_t ObserveEpoch(const ChunkLocation& location) const;
  /// As ObserveEpoch() for reads, which may still hold a version that a lookup has found
  /// superseded: nullopt if it is not the last one observed. Locks only the first time for an
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
  /// The file or folder at this position in a segment. `kind`: of the file, if it is a chunk's.
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
  std::vector<uint64_t> widths_;  // number of folders of each level in a row, from level 1 on
  uint64_t folders_per_row_ = 0;
  uint64_t file_blocks_ = 0;
  uint64_t folder_blocks_ = 0;
};
using RangePtr = std::shared_ptr<const ArrayRange>;

/// The naming of an array's chunks as one number: the rank, and for each view whether it shows
/// them, in which form. For users that know a range only from the journal (IdJournal::Range).
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
  uint32_t number = 0;        // number in the journal
  bool is_inherited = false;  // from another process, and not yet used by this one
  /// Identifies the contents of the files: the layout of chunks, except the number of rows, and
  /// their encoding in the views. The positions stay the same as long as it does. A digest, because
  /// it is kept for every array that was ever used, and its input takes most of a KiB.
  Digest files;
  uint64_t rows = 0;  // of the array, while it never shrank
  std::vector<ArrayRange::Segment> segments;
  /// ChunkSource::id(). Ranges of one source share their epochs, which OpenShards note.
  uint64_t source = 0;
  std::shared_ptr<EpochTable> epochs;

  /// Rows that have positions.
  [[nodiscard]] uint64_t covered_rows() const {
    return segments.empty() ? 0 : segments.back().first_row + segments.back().rows;
  }

  /// The array's chunks; null once neither its NodeRecord nor another owner holds them.
  [[nodiscard]] RangePtr Get() const;
  /// As Get(), without a lock if this thread asked for them last.
  [[nodiscard]] RangePtr GetAgain() const;
  void Set(const RangePtr& range);
  /// Keeps the chunks of a layout that was replaced, or that cannot be read: programs may still be
  /// in its folders.
  void Keep();
  /// Undoes Keep().
  void Drop();
  /// Invalidates each thread's cached range at its next GetAgain().
  void Release() { version_.fetch_add(1, std::memory_order_release); }

 private:
  static std::atomic<uint64_t> last_id_;
  const uint64_t id_ = ++last_id_;     // unique in the process: other mounts' records differ
  std::atomic<uint64_t> version_ = 0;  // changes with the members below
  mutable std::mutex mutex_;           // guards the rest
  std::weak_ptr<const ArrayRange> range_;
  RangePtr kept_;
};

}  // namespace zarrfs
