#include "tools/zarrctl/map_grid.h"

#include <algorithm>
#include <cstddef>

namespace zarrfs::ctl {
namespace {

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Chunks a cell, so that `count` chunks are at most `most` cells. Cells do not straddle shards of
// `shard` chunks if that does not make them more than twice as coarse.
uint64_t CellLength(uint64_t count, uint64_t most, uint64_t shard) {
  const uint64_t needed = std::max<uint64_t>(CeilDivide(count, most), 1);
  if (needed >= shard) {
    const uint64_t whole = CeilDivide(needed, shard) * shard;
    return whole <= 2 * needed ? whole : needed;
  }
  for (uint64_t length = needed; length <= std::min(2 * needed, shard); ++length) {
    if (shard % length == 0) return length;
  }
  return needed;
}

// The axes of the slice, in chunks.
void SetAxes(const ArrayLayout& layout, ChunkMap& map) {
  const auto& counts = layout.inner_grid.counts();
  const size_t rank = counts.size();
  if (rank >= 1) {
    map.columns = counts[rank - 1];
    map.shard_columns = layout.inner_per_outer[rank - 1];
  }
  if (rank >= 2) {
    map.rows = counts[rank - 2];
    map.shard_rows = layout.inner_per_outer[rank - 2];
  }
  map.places = map.rows * map.columns;
  if (rank > 2 && layout.inner_grid.size() > 0) {
    ChunkCoordinates first{};
    std::ranges::copy(map.slice, first.begin());
    map.slice_start = layout.inner_grid.Linear({first.data(), rank});
  }
}

// Rows of whole cells, and of whole shards where there is room for it.
void Fold(const MapRequest& request, ChunkMap& map) {
  const uint64_t count = map.columns;
  map.is_folded = true;
  map.cell_columns = CellLength(count, request.max_rows * request.max_columns, 1);
  map.columns = request.max_columns * map.cell_columns;
  const uint64_t whole = map.columns / map.shard_columns * map.shard_columns;
  if (whole > 0 && whole % map.cell_columns == 0 && CeilDivide(count, whole) <= request.max_rows) {
    map.columns = whole;
  }
  map.rows = CeilDivide(count, map.columns);
}

// Chunks that lie in a cell.
uint64_t PlacesIn(const ChunkMap& map, uint64_t row, uint64_t column) {
  const uint64_t first_row = row * map.cell_rows;
  const uint64_t first_column = column * map.cell_columns;
  const uint64_t columns = std::min(map.cell_columns, map.columns - first_column);
  if (!map.is_folded) return std::min(map.cell_rows, map.rows - first_row) * columns;
  const uint64_t before = first_row * map.columns + first_column;
  return before < map.places ? std::min(columns, map.places - before) : 0;
}

}  // namespace

ChunkMap MakeMapGrid(const ArrayLayout& layout, const std::vector<uint64_t>& slice,
                     const MapRequest& request) {
  ChunkMap map;
  map.slice = slice;
  SetAxes(layout, map);
  if (map.places == 0) return map;
  if (layout.inner_grid.rank() == 1 && map.columns > request.max_columns) {
    Fold(request, map);
  } else {
    map.cell_rows = CellLength(map.rows, request.max_rows, map.shard_rows);
    map.cell_columns = CellLength(map.columns, request.max_columns, map.shard_columns);
  }
  map.grid_rows = CeilDivide(map.rows, map.cell_rows);
  map.grid_columns = CeilDivide(map.columns, map.cell_columns);
  map.cells.resize(map.grid_rows * map.grid_columns);
  for (uint64_t r = 0; r < map.grid_rows; ++r) {
    for (uint64_t c = 0; c < map.grid_columns; ++c) {
      map.cells[r * map.grid_columns + c].places = PlacesIn(map, r, c);
    }
  }
  return map;
}

}  // namespace zarrfs::ctl
