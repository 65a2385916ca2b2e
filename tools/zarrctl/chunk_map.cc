#include "tools/zarrctl/chunk_map.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/map_grid.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs::ctl {
namespace {

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
    const auto take = [&](uint64_t chunk, const Result<ChunkLocation>& location) {
      if (location) {
        chunks.push_back({chunk, location->offset, location->length});
        return;
      }
      if (!damage) damage = location.error();
      if (MapCell* cell = CellOf(chunk)) {
        ++cell->damaged;
        ++map_.damaged;
      }
    };
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

Result<ChunkMap> MakeChunkMap(const ChunkSource& source, const std::vector<uint64_t>& slice,
                              const MapRequest& request, Progress& progress,
                              const std::function<void(const Error&)>& on_damage) {
  return MapMaker(source, slice, request, on_damage).Make(progress);
}

}  // namespace zarrfs::ctl
