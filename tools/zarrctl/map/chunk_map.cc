#include "tools/zarrctl/map/chunk_map.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs::ctl {
namespace {

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Returns the number of chunks per cell along an axis, so that `count` chunks need at most `most`
// cells. Aligns cells with shards of `shard` chunks, unless that makes cells more than twice as
// coarse. `shard` is 0 if shards differ in length.
uint64_t CellLength(uint64_t count, uint64_t most, uint64_t shard) {
  const uint64_t needed = std::max<uint64_t>(CeilDivide(count, most), 1);
  if (shard == 0) return needed;
  if (needed >= shard) {
    const uint64_t whole = CeilDivide(needed, shard) * shard;
    return whole <= 2 * needed ? whole : needed;
  }
  for (uint64_t length = needed; length <= std::min(2 * needed, shard); ++length) {
    if (shard % length == 0) return length;
  }
  return needed;
}

// Returns the length of a shard along an axis, in chunks; 0 if shards differ in length.
uint64_t ShardLength(const ArrayLayout& layout, size_t axis) {
  const bool differs = layout.outers_differ() && layout.outer_axes[axis].differs();
  return differs ? 0 : layout.inner_per_outer[axis];
}

// Prepares a map of all chunks, as if the array had one axis. Shards then have no straight
// boundaries.
void SetWhole(const ArrayLayout& layout, ChunkMap& map) {
  map.columns = layout.inner_grid.size();
  map.places = map.columns;
  if (layout.is_sharded()) map.shard_rows = map.shard_columns = 0;
}

// Sets the rows and columns of the map, the size of a shard, and the first chunk of the slice, all
// in chunks.
void SetAxes(const ArrayLayout& layout, ChunkMap& map) {
  const auto& counts = layout.inner_grid.counts();
  const size_t rank = counts.size();
  if (rank >= 1) {
    map.columns = counts[rank - 1];
    map.shard_columns = ShardLength(layout, rank - 1);
  }
  if (rank >= 2) {
    map.rows = counts[rank - 2];
    map.shard_rows = ShardLength(layout, rank - 2);
  }
  map.places = map.rows * map.columns;
  if (rank > 2 && layout.inner_grid.size() > 0) {
    ChunkCoordinates first{};
    std::ranges::copy(map.slice, first.begin());
    map.slice_start = layout.inner_grid.Linear({first.data(), rank});
  }
}

// Breaks one long axis into rows of whole cells and, if possible, of whole shards.
void Fold(const MapRequest& request, ChunkMap& map) {
  const uint64_t count = map.columns;
  map.is_folded = true;
  map.cell_columns = CellLength(count, request.max_rows * request.max_columns, 1);
  map.columns = request.max_columns * map.cell_columns;
  const uint64_t shard = map.shard_columns;
  const uint64_t whole = shard == 0 ? 0 : map.columns / shard * shard;
  if (whole > 0 && whole % map.cell_columns == 0 && CeilDivide(count, whole) <= request.max_rows) {
    map.columns = whole;
  }
  map.rows = CeilDivide(count, map.columns);
}

// Returns the number of chunks in a cell, stored or not.
uint64_t PlacesIn(const ChunkMap& map, uint64_t row, uint64_t column) {
  const uint64_t first_row = row * map.cell_rows;
  const uint64_t first_column = column * map.cell_columns;
  const uint64_t columns = std::min(map.cell_columns, map.columns - first_column);
  if (!map.is_folded) return std::min(map.cell_rows, map.rows - first_row) * columns;
  const uint64_t before = first_row * map.columns + first_column;
  return before < map.places ? std::min(columns, map.places - before) : 0;
}

// Makes a map of `slice` in which no chunk is stored. `request` limits the number of cells.
ChunkMap MakeMapGrid(const ArrayLayout& layout, const std::vector<uint64_t>& slice,
                     const MapRequest& request) {
  ChunkMap map;
  map.by = request.by;
  map.slice = slice;
  if (request.whole) {
    SetWhole(layout, map);
  } else {
    SetAxes(layout, map);
  }
  if (map.places == 0) return map;
  const bool is_one_axis = request.whole || layout.inner_grid.rank() == 1;
  if (is_one_axis && map.columns > request.max_columns) {
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

struct StoredChunk {
  uint64_t chunk = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
};

class MapMaker {
 public:
  MapMaker(const ChunkSource& source, const std::vector<uint64_t>& slice, const MapRequest& request,
           const std::function<void(const Error&)>& on_damage)
      : source_(source),
        layout_(source.layout()),
        request_(request),
        on_damage_(on_damage),
        map_(MakeMapGrid(layout_, slice, request)) {}

  Result<ChunkMap> Make(Progress& progress) {
    if (!request_.is_over && Progress::IsSeen()) {
      (void)source_.VisitOuter(map_.slice, [&](OuterIndex) {
        progress.AddFound();
        return !StopRequested();
      });
    }
    progress.Begin();
    if (map_.places > 0) {
      auto visited = source_.VisitOuter(map_.slice, [&](OuterIndex outer) {
        if (request_.is_over && request_.is_over()) return map_.is_complete = false;
        TakeObject(outer);
        progress.AddDone();
        return !StopRequested();
      });
      if (!visited) return Fail(visited);
    }
    return std::move(map_);
  }

 private:
  // Returns the cell that contains a chunk; null if the chunk is outside the slice.
  MapCell* CellOf(uint64_t chunk) {
    if (chunk < map_.slice_start || chunk - map_.slice_start >= map_.places) return nullptr;
    const uint64_t at = chunk - map_.slice_start;
    const uint64_t row = at / map_.columns / map_.cell_rows;
    const uint64_t column = at % map_.columns / map_.cell_columns;
    return &map_.cells[row * map_.grid_columns + column];
  }

  // Calls `visit` for each cell that the stored object `outer` covers, with the number of the
  // cell's chunks that the object covers.
  template <typename Visit>
  void VisitCellsOf(OuterIndex outer, Visit visit) {
    const size_t rank = layout_.outer_grid.rank();
    ChunkCoordinates at;
    layout_.outer_grid.Coordinates(ToNumber(outer), at);
    if (request_.whole) return VisitCellsOfWhole(at, visit);
    // In a folded map, the chunks are numbered as one row.
    const uint64_t columns = map_.is_folded ? map_.places : map_.columns;
    const auto range = [&](size_t from_last, uint64_t count) -> std::pair<uint64_t, uint64_t> {
      if (rank < from_last) return {0, std::min<uint64_t>(1, count)};
      const size_t axis = rank - from_last;
      const uint64_t first = layout_.FirstInner(axis, at[axis]);
      return {first, std::min(first + layout_.InnerCount(axis, at[axis]), count)};
    };
    const auto [first_column, end_column] = range(1, columns);
    const auto [first_row, end_row] = range(2, map_.rows);
    for (uint64_t r = first_row, next_r = 0; r < end_row; r = next_r) {
      next_r = std::min((r / map_.cell_rows + 1) * map_.cell_rows, end_row);
      for (uint64_t c = first_column, next_c = 0; c < end_column; c = next_c) {
        next_c = std::min((c / map_.cell_columns + 1) * map_.cell_columns, end_column);
        visit(*CellOf(map_.slice_start + r * columns + c), (next_r - r) * (next_c - c));
      }
    }
  }

  // Calls `visit` once for each chunk of the object at `outer`. Used instead of VisitCellsOf() if
  // the map shows every chunk (MapRequest::whole).
  template <typename Visit>
  void VisitCellsOfWhole(const ChunkCoordinates& outer, Visit visit) {
    const size_t rank = layout_.inner_grid.rank();
    const auto& counts = layout_.inner_grid.counts();
    ChunkCoordinates first{};
    ChunkCoordinates end{};
    for (size_t axis = 0; axis < rank; ++axis) {
      first[axis] = layout_.FirstInner(axis, outer[axis]);
      end[axis] = std::min(first[axis] + layout_.InnerCount(axis, outer[axis]), counts[axis]);
    }
    ChunkCoordinates at = first;
    for (;;) {
      visit(*CellOf(layout_.inner_grid.Linear({at.data(), rank})), 1);
      size_t axis = rank;
      for (; axis > 0 && ++at[axis - 1] >= end[axis - 1]; --axis) {
        at[axis - 1] = first[axis - 1];
      }
      if (axis == 0) return;
    }
  }

  void TakeObject(OuterIndex outer) {
    std::vector<StoredChunk> chunks;
    std::optional<Error> damage;
    const std::span<const uint64_t> prefix =
        request_.want_order ? std::span<const uint64_t>() : std::span(map_.slice);
    ChunkCursor cursor(source_, outer, {.prefix = prefix});
    const ListedChunk* next = nullptr;
    while (!StopRequested() && (next = cursor.Next()) != nullptr) {
      const uint64_t chunk = ToNumber(next->chunk);
      if (next->location) {
        chunks.push_back({chunk, next->location->offset, next->location->length});
        continue;
      }
      if (!damage) damage = next->location.error();
      if (MapCell* cell = CellOf(chunk)) {
        ++cell->damaged;
        ++map_.damaged;
      }
    }
    if (!cursor.status()) {
      damage = cursor.status().error();
      VisitCellsOf(outer, [&](MapCell& cell, uint64_t places) {
        cell.damaged += places;
        map_.damaged += places;
      });
      chunks.clear();
    }
    ++map_.objects;
    VisitCellsOf(outer, [](MapCell& cell, uint64_t) { cell.in_object = true; });
    if (damage) {
      on_damage_(
          Error{damage->code, fmt::format("{}: {}", source_.ObjectKey(outer),
                                          WithoutKey(damage->message, source_.ObjectKey(outer)))});
    }
    TakeChunks(chunks);
  }

  // Adds the stored chunks of one object to the map. `chunks` must be in C order.
  void TakeChunks(std::vector<StoredChunk>& chunks) {
    if (request_.want_order) {
      const bool in_order = std::ranges::is_sorted(chunks, {}, &StoredChunk::offset);
      if (in_order && !chunks.empty()) ++map_.in_order;
      if (!in_order) std::ranges::stable_sort(chunks, {}, &StoredChunk::offset);
      map_.longest = std::max<uint64_t>(map_.longest, chunks.size());
    }
    const double last = chunks.size() > 1 ? static_cast<double>(chunks.size() - 1) : 1;
    for (size_t i = 0; i < chunks.size(); ++i) {
      MapCell* cell = CellOf(chunks[i].chunk);
      if (cell == nullptr) continue;
      const uint64_t length = chunks[i].length;
      ++cell->stored;
      cell->bytes += length;
      cell->order += static_cast<double>(i) / last;
      cell->offset = chunks[i].offset;
      cell->position = i;
      map_.smallest = map_.stored == 0 ? length : std::min(map_.smallest, length);
      map_.largest = std::max(map_.largest, length);
      ++map_.stored;
      map_.bytes += length;
    }
  }

  const ChunkSource& source_;
  const ArrayLayout& layout_;
  const MapRequest& request_;
  const std::function<void(const Error&)>& on_damage_;
  ChunkMap map_;
};

}  // namespace

Result<ChunkMap> MakeChunkMap(const ChunkSource& source, const std::vector<uint64_t>& slice,
                              const MapRequest& request, Progress& progress,
                              const std::function<void(const Error&)>& on_damage) {
  return MapMaker(source, slice, request, on_damage).Make(progress);
}

}  // namespace zarrfs::ctl
