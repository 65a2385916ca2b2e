#include "tools/zarrctl/chunk_map.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/array/chunk_cursor.h"

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

size_t LeadingAxes(const ChunkGrid& grid) { return grid.rank() > 2 ? grid.rank() - 2 : 0; }

struct StoredChunk {
  uint64_t chunk = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
};

class MapMaker {
 public:
  MapMaker(const ChunkSource& source, const std::vector<uint64_t>& slice, const MapRequest& request,
           const std::function<void(const Error&)>& on_damage)
      : source_(source), layout_(source.layout()), request_(request), on_damage_(on_damage) {
    map_.slice = slice;
    MakeGrid();
  }

  Result<ChunkMap> Make(Progress& progress) {
    if (Progress::IsSeen()) {
      (void)source_.VisitOuter(map_.slice, [&](OuterIndex) {
        progress.AddFound();
        return !StopRequested();
      });
    }
    progress.Begin();
    if (map_.places > 0) {
      auto visited = source_.VisitOuter(map_.slice, [&](OuterIndex outer) {
        TakeObject(outer);
        progress.AddDone();
        return !StopRequested();
      });
      if (!visited) return Fail(visited);
    }
    return std::move(map_);
  }

 private:
  void MakeGrid() {
    const auto& counts = layout_.inner_grid.counts();
    const auto& per_outer = layout_.inner_per_outer;
    const size_t rank = counts.size();
    if (rank >= 1) {
      map_.columns = counts[rank - 1];
      map_.shard_columns = per_outer[rank - 1];
    }
    if (rank >= 2) {
      map_.rows = counts[rank - 2];
      map_.shard_rows = per_outer[rank - 2];
    }
    if (rank > 2) {
      ChunkCoordinates first{};
      std::ranges::copy(map_.slice, first.begin());
      if (layout_.inner_grid.size() > 0) {
        map_.slice_start = layout_.inner_grid.Linear({first.data(), rank});
      }
    }
    map_.places = map_.rows * map_.columns;
    if (map_.places == 0) return;
    if (rank == 1 && map_.columns > request_.max_columns) {
      Fold();
    } else {
      map_.cell_rows = CellLength(map_.rows, request_.max_rows, map_.shard_rows);
      map_.cell_columns = CellLength(map_.columns, request_.max_columns, map_.shard_columns);
    }
    map_.grid_rows = CeilDivide(map_.rows, map_.cell_rows);
    map_.grid_columns = CeilDivide(map_.columns, map_.cell_columns);
    map_.cells.resize(map_.grid_rows * map_.grid_columns);
    for (uint64_t r = 0; r < map_.grid_rows; ++r) {
      for (uint64_t c = 0; c < map_.grid_columns; ++c) {
        uint64_t& places = map_.cells[r * map_.grid_columns + c].places;
        const uint64_t row = r * map_.cell_rows;
        const uint64_t column = c * map_.cell_columns;
        const uint64_t columns = std::min(map_.cell_columns, map_.columns - column);
        if (map_.is_folded) {
          const uint64_t before = row * map_.columns + column;
          places = before < map_.places ? std::min(columns, map_.places - before) : 0;
        } else {
          places = std::min(map_.cell_rows, map_.rows - row) * columns;
        }
      }
    }
  }

  // Rows of whole cells, and of whole shards where there is room for it.
  void Fold() {
    const uint64_t count = map_.columns;
    const uint64_t shard = map_.shard_columns;
    map_.is_folded = true;
    map_.cell_columns = CellLength(count, request_.max_rows * request_.max_columns, 1);
    map_.columns = request_.max_columns * map_.cell_columns;
    const uint64_t whole = map_.columns / shard * shard;
    if (whole > 0 && whole % map_.cell_columns == 0 &&
        CeilDivide(count, whole) <= request_.max_rows) {
      map_.columns = whole;
    }
    map_.rows = CeilDivide(count, map_.columns);
  }

  // The cell of a chunk; null if it is not of the slice.
  MapCell* CellOf(uint64_t chunk) {
    if (chunk < map_.slice_start || chunk - map_.slice_start >= map_.places) return nullptr;
    const uint64_t at = chunk - map_.slice_start;
    const uint64_t row = at / map_.columns / map_.cell_rows;
    const uint64_t column = at % map_.columns / map_.cell_columns;
    return &map_.cells[row * map_.grid_columns + column];
  }

  // Calls `visit` with each cell that a stored object covers, and with how many of its places.
  template <typename Visit>
  void VisitCellsOf(OuterIndex outer, Visit visit) {
    const size_t rank = layout_.outer_grid.rank();
    ChunkCoordinates at;
    layout_.outer_grid.Coordinates(ToNumber(outer), at);
    const uint64_t first_column = rank >= 1 ? at[rank - 1] * map_.shard_columns : 0;
    const uint64_t end_column =
        std::min(first_column + map_.shard_columns, map_.is_folded ? map_.places : map_.columns);
    if (map_.is_folded) {
      for (uint64_t c = first_column; c < end_column;) {
        const uint64_t next = std::min((c / map_.cell_columns + 1) * map_.cell_columns, end_column);
        visit(*CellOf(c), next - c);
        c = next;
      }
      return;
    }
    const uint64_t first_row = rank >= 2 ? at[rank - 2] * map_.shard_rows : 0;
    const uint64_t end_row = std::min(first_row + map_.shard_rows, map_.rows);
    for (uint64_t r = first_row; r < end_row;) {
      const uint64_t next_r = std::min((r / map_.cell_rows + 1) * map_.cell_rows, end_row);
      for (uint64_t c = first_column; c < end_column;) {
        const uint64_t next_c =
            std::min((c / map_.cell_columns + 1) * map_.cell_columns, end_column);
        visit(map_.cells[r / map_.cell_rows * map_.grid_columns + c / map_.cell_columns],
              (next_r - r) * (next_c - c));
        c = next_c;
      }
      r = next_r;
    }
  }

  void TakeObject(OuterIndex outer) {
    std::vector<StoredChunk> chunks;
    std::optional<Error> damage;
    const auto take = [&](uint64_t chunk, const Result<ChunkLocation>& place) {
      if (place) {
        chunks.push_back({chunk, place->offset, place->length});
        return;
      }
      if (!damage) damage = place.error();
      if (MapCell* cell = CellOf(chunk)) {
        ++cell->damaged;
        ++map_.damaged;
      }
    };
    if (layout_.is_sharded()) {
      const std::span<const uint64_t> prefix =
          request_.want_order ? std::span<const uint64_t>() : std::span(map_.slice);
      ChunkCursor cursor(source_, outer, {.prefix = prefix});
      const ListedChunk* next = nullptr;
      while (!StopRequested() && (next = cursor.Next()) != nullptr) {
        take(ToNumber(next->chunk), next->location);
      }
      if (!cursor.status()) {
        damage = cursor.status().error();
        VisitCellsOf(outer, [&](MapCell& cell, uint64_t places) {
          cell.damaged += places;
          map_.damaged += places;
        });
        chunks.clear();
      }
    } else {
      const uint64_t chunk = ToNumber(outer);  // each is an object of its own
      const auto located = source_.Locate(InnerIndex{chunk}, kAnyAge, /*may_read=*/false);
      if (located && !located->location) return;  // removed since it was listed
      if (located) {
        take(chunk, *located->location);
      } else {
        take(chunk, Fail(located));
      }
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

  // `chunks`: of one object, in C order.
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
      cell->chunk = chunks[i].chunk;
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

uint64_t ChunkMap::FirstChunk(uint64_t row, uint64_t column) const {
  return slice_start + row * cell_rows * columns + column * cell_columns;
}

Result<std::vector<uint64_t>> ParseSlice(std::string_view text, const ChunkGrid& grid) {
  const size_t leading = LeadingAxes(grid);
  if (leading == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "--slice is for arrays with more than two axes; this one has {}", grid.rank());
  }
  std::vector<uint64_t> slice;
  for (std::string_view rest = text; slice.size() < leading;) {
    const size_t end = std::min(rest.find_first_of(",./"), rest.size());
    const auto value = ParseCoordinate(rest.substr(0, end), grid.counts()[slice.size()]);
    const bool is_last = slice.size() + 1 == leading;
    if (!value || is_last != (end == rest.size())) break;
    slice.push_back(*value);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (slice.size() == leading) return slice;
  return Fail(ErrorCode::kInvalidArgument,
              "--slice {}: no slice of a grid of {} chunks; say {}, for example --slice {}", text,
              fmt::join(grid.counts(), " x "),
              leading == 1 ? "one number" : fmt::format("{} numbers", leading),
              fmt::join(std::vector<uint64_t>(leading, 0), ","));
}

Result<std::vector<uint64_t>> FirstSliceWithChunks(const ChunkSource& source) {
  constexpr int kTries = 16;  // shards without a chunk are rare
  const ArrayLayout& layout = source.layout();
  const size_t leading = LeadingAxes(layout.inner_grid);
  std::vector<uint64_t> zeros(leading, 0);
  if (leading == 0 || layout.inner_grid.size() == 0) return zeros;
  std::optional<std::vector<uint64_t>> tried;    // outer coordinates
  std::optional<std::vector<uint64_t>> damaged;  // a slice
  for (int i = 0; i < kTries && !StopRequested(); ++i) {
    std::optional<std::vector<uint64_t>> least;
    auto visited = source.VisitOuter({}, [&](OuterIndex outer) {
      ChunkCoordinates at;
      layout.outer_grid.Coordinates(ToNumber(outer), at);
      const std::span<const uint64_t> coordinates(at.data(), leading);
      const auto is_less = [](std::span<const uint64_t> a, std::span<const uint64_t> b) {
        return std::ranges::lexicographical_compare(a, b);
      };
      if ((!tried || is_less(*tried, coordinates)) && (!least || is_less(coordinates, *least))) {
        least.emplace(coordinates.begin(), coordinates.end());
      }
      return !StopRequested();
    });
    if (!visited) return Fail(visited);
    if (!least) break;
    if (!layout.is_sharded()) return *least;
    std::vector<uint64_t> prefix = *least;
    for (size_t d = 0; d < leading; ++d) prefix[d] *= layout.inner_per_outer[d];
    std::optional<std::vector<uint64_t>> found;
    visited = source.VisitOuter(prefix, [&](OuterIndex outer) {
      // In row-major order: the first that is stored is the least of its shard.
      // (Problems are for the map to report.)
      ChunkCursor cursor(source, outer);
      const ListedChunk* next = nullptr;
      while (!StopRequested() && (next = cursor.Next()) != nullptr) {
        if (!next->location && damaged) continue;
        ChunkCoordinates at;
        layout.inner_grid.Coordinates(ToNumber(next->chunk), at);
        std::vector<uint64_t> slice(at.begin(), at.begin() + static_cast<ptrdiff_t>(leading));
        if (next->location) {
          if (!found || slice < *found) found = std::move(slice);
          break;
        }
        damaged = std::move(slice);
      }
      return !StopRequested();
    });
    if (!visited) return Fail(visited);
    if (found) return *found;
    tried = least;
  }
  return damaged.value_or(zeros);
}

Result<ChunkMap> MakeChunkMap(const ChunkSource& source, const std::vector<uint64_t>& slice,
                              const MapRequest& request, Progress& progress,
                              const std::function<void(const Error&)>& on_damage) {
  return MapMaker(source, slice, request, on_damage).Make(progress);
}

}  // namespace zarrfs::ctl
