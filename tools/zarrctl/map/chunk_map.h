// ChunkMap: which chunks of one slice of an array are stored, in a grid of cells. The size of the
// grid is limited, regardless of the size of the array.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/progress.h"
#include "zarrcore/array/chunk_source.h"

namespace zarrfs::ctl {

/// A cell of a map. It represents one or more neighbouring chunks.
struct MapCell {
  uint64_t places = 0;   // chunks of the array in this cell, stored or not
  uint64_t stored = 0;   // stored chunks
  uint64_t damaged = 0;  // chunks whose shard or index entry is damaged or unreadable
  uint64_t bytes = 0;    // size of the stored chunks
  // The sum of the positions of the stored chunks in their shards, from 0 for the first chunk of a
  // shard to 1 for the last.
  double order = 0;
  bool in_object = false;  // true if a stored object covers part of the cell
  // Only for a cell with one stored chunk: the chunk's offset in the object.
  uint64_t offset = 0;
  // Only for a cell with one stored chunk: the chunk's position in the shard, 0 for the first.
  uint64_t position = 0;
};

/// Options of a map.
struct MapRequest {
  MapBy by = MapBy::kSize;
  uint64_t max_rows = 1;  // rows of cells
  uint64_t max_columns = 1;
  bool want_order = false;  // read all chunks of a shard, not only those in the slice
  bool whole = false;       // map all chunks in reading order, as if the array had one axis
  // Once this function returns true, MakeChunkMap() ends early, with the results so far.
  std::function<bool()> is_over = {};
};

struct ChunkMap {
  MapBy by = MapBy::kSize;
  /// The slice that the map shows: chunk numbers along all axes except the last two.
  std::vector<uint64_t> slice;
  /// True if one long axis is folded into rows. Chunks are in reading order, `columns` per row.
  bool is_folded = false;
  // The sizes of the map, of a cell and of a shard, in chunks.
  uint64_t rows = 1, columns = 1;
  uint64_t cell_rows = 1, cell_columns = 1;
  // The size of a shard: 1 if the array is not sharded, 0 if shards differ in length or have no
  // straight boundaries.
  uint64_t shard_rows = 1, shard_columns = 1;
  uint64_t slice_start = 0;  // the number of the first chunk of the slice
  // The cells, row by row; grid_rows and grid_columns count cells.
  uint64_t grid_rows = 1, grid_columns = 1;
  std::vector<MapCell> cells;

  // Totals of the slice.
  uint64_t places = 0;
  uint64_t stored = 0;
  uint64_t damaged = 0;
  uint64_t objects = 0;  // the number of stored objects that were examined
  uint64_t bytes = 0;
  uint64_t smallest = 0, largest = 0;  // the sizes of the smallest and largest chunk in bytes
  uint64_t longest = 0;   // the maximum number of chunks in a shard; only with want_order
  uint64_t in_order = 0;  // the number of shards whose chunks are in C order; only with want_order
  bool is_complete = true;  // false if MapRequest::is_over has ended the map early

  [[nodiscard]] bool is_exact() const { return cell_rows == 1 && cell_columns == 1; }
  /// True if a shard may contain several chunks of the slice.
  [[nodiscard]] bool has_shards() const { return shard_rows != 1 || shard_columns != 1; }
  [[nodiscard]] const MapCell& at(uint64_t row, uint64_t column) const {
    return cells[row * grid_columns + column];
  }
  /// The number, in inner_grid, of the first chunk of the cell at `row` and `column`.
  [[nodiscard]] uint64_t FirstChunk(uint64_t row, uint64_t column) const {
    return slice_start + row * cell_rows * columns + column * cell_columns;
  }
};

/// Makes a map of a slice. Calls `on_damage` once for each stored object that is damaged or cannot
/// be read. Ends early, with the results so far, if StopRequested().
[[nodiscard]] Result<ChunkMap> MakeChunkMap(const ChunkSource& source,
                                            const std::vector<uint64_t>& slice,
                                            const MapRequest& request, Progress& progress,
                                            const std::function<void(const Error&)>& on_damage);

// The functions below, in map_slice.cc, choose which slice a map shows if the array has more than
// two axes.

/// Parses a slice such as "3,0". If the grid has no such slice, fails with kInvalidArgument and
/// says what to write.
[[nodiscard]] Result<std::vector<uint64_t>> ParseSlice(std::string_view text,
                                                       const ChunkGrid& grid);

/// Returns the first slice that has a stored chunk. If the first few shards have none, returns a
/// slice with a damaged chunk, or zeros.
[[nodiscard]] Result<std::vector<uint64_t>> FirstSliceWithChunks(const ChunkSource& source);

}  // namespace zarrfs::ctl
