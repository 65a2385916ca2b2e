// ChunkMap: which chunks of one slice of an array are stored, in a grid of cells of bounded size
// regardless of the size of the array.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/progress.h"
#include "zarrcore/array/chunk_source.h"

namespace zarrfs::ctl {

/// One or more neighbouring chunks.
struct MapCell {
  uint64_t places = 0;     // chunks of the array that lie here
  uint64_t stored = 0;     // those that are stored
  uint64_t damaged = 0;    // those whose shard or index entry is damaged or cannot be read
  uint64_t bytes = 0;      // of the stored ones
  double order = 0;        // sum over the stored ones: 0 first in its shard … 1 last
  bool in_object = false;  // a stored object covers some of it
  // Of one stored chunk:
  uint64_t offset = 0;
  uint64_t position = 0;  // in its shard: 0 lies first
};

/// How a map is to be made.
struct MapRequest {
  MapBy by = MapBy::kSize;
  uint64_t max_rows = 1;  // of cells
  uint64_t max_columns = 1;
  bool want_order = false;  // looks at whole shards, not only at the slice's part
  bool whole = false;  // all chunks in reading order instead of a slice, folded as if on one axis
  std::function<bool()> is_over = {};  // ends it early, with the results so far
};

struct ChunkMap {
  MapBy by = MapBy::kSize;
  /// Chunk numbers along the axes before the last two.
  std::vector<uint64_t> slice;
  /// An array of one axis is folded: its chunks stand in reading order, `columns` a row.
  bool is_folded = false;
  // In chunks:
  uint64_t rows = 1, columns = 1;
  uint64_t cell_rows = 1, cell_columns = 1;
  uint64_t shard_rows = 1, shard_columns = 1;  // 1 where not sharded, 0 where shards differ
  uint64_t slice_start = 0;                    // number of the first chunk of the slice
  // In cells, row by row:
  uint64_t grid_rows = 1, grid_columns = 1;
  std::vector<MapCell> cells;

  // Totals of the slice:
  uint64_t places = 0;
  uint64_t stored = 0;
  uint64_t damaged = 0;
  uint64_t objects = 0;  // stored objects that were looked at
  uint64_t bytes = 0;
  uint64_t smallest = 0, largest = 0;  // chunk, in bytes
  uint64_t longest = 0;                // most chunks of one shard (with want_order)
  uint64_t in_order = 0;               // shards that hold their chunks in C order (with want_order)
  bool is_complete = true;             // else MapRequest::is_over has ended it

  [[nodiscard]] bool is_exact() const { return cell_rows == 1 && cell_columns == 1; }
  /// Whether a shard holds several chunks of the slice.
  [[nodiscard]] bool has_shards() const { return shard_rows != 1 || shard_columns != 1; }
  [[nodiscard]] const MapCell& at(uint64_t row, uint64_t column) const {
    return cells[row * grid_columns + column];
  }
  /// Number in inner_grid of the first chunk of a cell; of the slice itself row and column.
  [[nodiscard]] uint64_t FirstChunk(uint64_t row, uint64_t column) const {
    return slice_start + row * cell_rows * columns + column * cell_columns;
  }
};

/// Calls `on_damage` once per stored object that is damaged or cannot be read. Stops early, with
/// the results so far, once StopRequested().
[[nodiscard]] Result<ChunkMap> MakeChunkMap(const ChunkSource& source,
                                            const std::vector<uint64_t>& slice,
                                            const MapRequest& request, Progress& progress,
                                            const std::function<void(const Error&)>& on_damage);

// Which slice of an array with more than two axes a map shows (map_slice.cc).

/// Parses "3,0". kInvalidArgument, with advice, unless it is a slice of the grid.
[[nodiscard]] Result<std::vector<uint64_t>> ParseSlice(std::string_view text,
                                                       const ChunkGrid& grid);

/// The least slice with a chunk; else one with a damaged chunk, else zeros.
[[nodiscard]] Result<std::vector<uint64_t>> FirstSliceWithChunks(const ChunkSource& source);

}  // namespace zarrfs::ctl
