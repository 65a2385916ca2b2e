// ArrayRange: maps the chunk files and chunk folders of one array to positions, the lower bits of
// their ids.
//
// All chunks with the same coordinate along axis 0 are a row. Rows get their positions in segments:
// the first segment covers the rows that the array had at first use. Each later segment covers the
// rows added since, and usually at least as many rows as all earlier segments together. So an array
// that is appended to along axis 0 keeps its ids and needs few segments. A segment has one block of
// files per encoding, because views that serve the same bytes share inodes. The file blocks are
// followed by one block of folders per view with nested chunks: the folder of all chunks ("c"),
// then the folders that fix one coordinate, two coordinates, and so on, each in row-major order.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fs/ids/epoch_table.h"
#include "fs/ids/file_kind.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs {

/// The id of a file or folder of a mount, which is also its inode number: 16 bits of epoch above 48
/// bits of position.
using NodeId = uint64_t;

inline constexpr NodeId kRootId = 1;
inline constexpr int kPositionBits = 48;

[[nodiscard]] constexpr uint64_t PositionOf(NodeId id) {
  return id & ((NodeId{1} << kPositionBits) - 1);
}
[[nodiscard]] constexpr uint16_t EpochOf(NodeId id) {
  return static_cast<uint16_t>(id >> kPositionBits);
}
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
/// the epochs of stored objects.
class ArrayRange {
 public:
  struct Segment {
    uint64_t first_row = 0;
    uint64_t rows = 0;
    uint64_t position = 0;  // the first position of the segment
  };

  /// How one view shows the chunks of the array.
  struct ViewPart {
    bool shown = false;
    ChunkNaming naming;
    ChunkEncoding encoding;
    uint32_t encoding_number = 0;  // the number of the first view that serves the same files
    std::shared_ptr<const FillChunk> fill_chunk;
    uint64_t file_block = 0;
    uint64_t folder_block = 0;
    // True if chunks are in nested folders. Otherwise they are directly in the array's folder.
    bool has_folders = false;
    uint64_t files = 0;  // the position of chunk 0
    uint32_t links = 1;  // the link count: listed views that serve the same files, at least 1

    /// Whether a lookup must check the size of a stored chunk.
    [[nodiscard]] Sizes sizes() const { return encoding.as_stored ? Sizes::kAny : Sizes::kChecked; }
  };

  /// The chunk file or chunk folder at a position. Neither `chunk` nor `level` is set if the file
  /// or folder no longer exists.
  struct Place {
    size_t view = 0;
    std::optional<InnerIndex> chunk;
    std::optional<size_t> level;  // for a folder: the number of coordinates in `prefix`
    ChunkCoordinates prefix{};
  };

  /// Creates a range to which SetSegments() must assign positions. `listed_views`: see NodeTable.
  ArrayRange(const Node& node, NodeRecord* record, const ViewSet& listed_views);

  /// Returns how many positions (inode numbers without their epochs) `rows` rows of chunks need; at
  /// least 1.
  [[nodiscard]] uint64_t PositionsOf(uint64_t rows) const;
  void SetSegments(std::vector<Segment> segments);

  [[nodiscard]] size_t rank() const { return chunks->layout().inner_grid.rank(); }
  [[nodiscard]] uint64_t rows() const;
  /// Records the version of the stored object at `location` as the latest, and returns its epoch.
  uint32_t ObserveEpoch(const ChunkLocation& location) const;
  /// Returns the epoch of the shard at `location`, for a read. nullopt if its version is not the
  /// last version observed, because the shard was replaced after the lookup. Takes a lock only in
  /// the first call for each OpenShard.
  [[nodiscard]] std::optional<uint32_t> KnownEpoch(const ChunkLocation& location) const;
  /// Returns the position of a chunk's file in a view: its inode number without the epoch.
  [[nodiscard]] uint64_t PositionOf(size_t view, InnerIndex chunk) const {
    const uint64_t number = ToNumber(chunk);
    const ViewPart& part = views[view];
    if (number < segments_[0].rows * chunks_per_row_) return part.files + number;
    return PositionInLaterSegment(part, number);
  }
  /// The id of the folder of the chunks whose coordinates begin with `prefix`.
  [[nodiscard]] NodeId FolderId(size_t view, std::span<const uint64_t> prefix) const;
  /// Returns the file or folder at `position`, which lies in segment number `segment`. If it is a
  /// file, `kind` must be its kind.
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
  // Sets `place` to the folder with the number `number` in a block of folders of `segment`.
  void FindFolder(const Segment& segment, uint64_t number, Place& place) const;

  std::vector<Segment> segments_;  // sorted by row, without gaps; never empty
  uint64_t chunks_per_row_ = 1;
  std::vector<uint64_t> widths_;  // the number of folders in one row, for each level from 1 on
  uint64_t folders_per_row_ = 0;
  uint64_t file_blocks_ = 0;
  uint64_t folder_blocks_ = 0;
};
using RangePtr = std::shared_ptr<const ArrayRange>;

/// Encodes the naming of an array's chunks as one number: the rank, and for each view whether and
/// in which form it shows the chunks. Workers that know a range only from the journal
/// (IdJournal::Range) need this number.
[[nodiscard]] uint64_t NamingOf(const ArrayRange& range);
struct NamingInView {
  size_t rank = 0;
  bool shown = false;
  ChunkNaming naming;
};
[[nodiscard]] NamingInView NamingIn(uint64_t word, size_t view);

/// The positions allocated to an ArrayRange. A RangeRecord lives as long as the process.
class RangeRecord {
 public:
  NodeRecord* record = nullptr;
  uint32_t number = 0;        // the number of this range in the journal
  bool is_inherited = false;  // written by another process, and not yet used by this one
  /// Identifies the contents of the chunk files: the layout of the chunks, except the number of
  /// rows, and their encoding in the views. The positions stay valid while `files` is the same. A
  /// digest saves memory: the encoded layout takes almost a KiB, and every array that was ever used
  /// needs a record.
  Digest files;
  uint64_t rows = 0;  // the number of rows of the array; never decreases
  std::vector<ArrayRange::Segment> segments;
  /// The ChunkSource::id() of the chunks. Successive ranges of an array with the same source share
  /// one EpochTable, because each OpenShard of the source caches its epoch.
  uint64_t source = 0;
  std::shared_ptr<EpochTable> epochs;

  /// The number of rows of chunks to which positions have been allocated.
  [[nodiscard]] uint64_t covered_rows() const {
    return segments.empty() ? 0 : segments.back().first_row + segments.back().rows;
  }

  /// Returns the array's chunks; null if neither a NodeRecord nor another owner still holds them.
  [[nodiscard]] RangePtr Get() const;
  /// Like Get(), but takes no lock if the last call of this thread was for the same chunks.
  [[nodiscard]] RangePtr GetAgain() const;
  void Set(const RangePtr& range);
  /// Keeps the chunks of a layout that was replaced or cannot be read, because programs may still
  /// use its folders.
  void Keep();
  /// Undoes Keep().
  void Drop();
  /// Makes each thread drop its cached range at its next GetAgain().
  void Release() { version_.fetch_add(1, std::memory_order_release); }

 private:
  static std::atomic<uint64_t> last_id_;
  const uint64_t id_ = ++last_id_;     // unique in the process
  std::atomic<uint64_t> version_ = 0;  // increased when range_ or kept_ changes
  mutable Mutex mutex_;
  std::weak_ptr<const ArrayRange> range_ GUARDED_BY(mutex_);
  RangePtr kept_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
