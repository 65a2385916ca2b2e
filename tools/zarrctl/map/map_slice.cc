// Chooses which slice a map shows if the array has more than two axes. A slice has one chunk number
// for each axis except the last two.
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/map/chunk_map.h"
#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs::ctl {
namespace {

using Coordinates = std::vector<uint64_t>;  // along all axes except the last two

// The maximum number of positions whose shards are searched for a chunk. Few shards have no chunk.
constexpr int kTries = 16;

size_t LeadingAxes(const ChunkGrid& grid) { return grid.rank() > 2 ? grid.rank() - 2 : 0; }

Coordinates LeadingCoordinates(const ChunkGrid& grid, uint64_t linear) {
  Coordinates at = CoordinatesOf(linear, grid);
  at.resize(LeadingAxes(grid));
  return at;
}

// Returns the smallest coordinates of a stored object or, if `after` is set, the smallest that
// follow `after`.
Result<std::optional<Coordinates>> LeastObject(const ChunkSource& source,
                                               const std::optional<Coordinates>& after) {
  std::optional<Coordinates> least;
  const auto visited = source.VisitOuter({}, [&](OuterIndex outer) {
    Coordinates at = LeadingCoordinates(source.layout().outer_grid, ToNumber(outer));
    if ((!after || *after < at) && (!least || at < *least)) least = std::move(at);
    return !StopRequested();
  });
  if (!visited) return Fail(visited);
  return least;
}

// Returns the first slice with a chunk in the shards at `at`. If these shards have no chunk, sets
// `damaged` to a slice with a damaged chunk, unless `damaged` is already set. The map of that slice
// will report the damage.
Result<std::optional<Coordinates>> LeastSlice(const ChunkSource& source, Coordinates at,
                                              std::optional<Coordinates>& damaged) {
  const ArrayLayout& layout = source.layout();
  for (size_t d = 0; d < at.size(); ++d) at[d] = layout.FirstInner(d, at[d]);
  std::optional<Coordinates> least;
  const auto visited = source.VisitOuter(at, [&](OuterIndex outer) {
    // The cursor returns chunks in row-major order, so the first stored chunk has the smallest
    // coordinates of its shard.
    ChunkCursor cursor(source, outer);
    const ListedChunk* next = nullptr;
    while (!StopRequested() && (next = cursor.Next()) != nullptr) {
      if (!next->location && damaged) continue;
      Coordinates slice = LeadingCoordinates(layout.inner_grid, ToNumber(next->chunk));
      if (next->location) {
        if (!least || slice < *least) least = std::move(slice);
        break;
      }
      damaged = std::move(slice);
    }
    return !StopRequested();
  });
  if (!visited) return Fail(visited);
  return least;
}

}  // namespace

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
              "--slice {}: not a slice of a grid of {} chunks; write {}, for example --slice {}",
              text, fmt::join(grid.counts(), " x "),
              leading == 1 ? "one number" : fmt::format("{} numbers", leading),
              fmt::join(std::vector<uint64_t>(leading, 0), ","));
}

Result<std::vector<uint64_t>> FirstSliceWithChunks(const ChunkSource& source) {
  const ArrayLayout& layout = source.layout();
  Coordinates zeros(LeadingAxes(layout.inner_grid), 0);
  if (zeros.empty() || layout.inner_grid.size() == 0) return zeros;
  std::optional<Coordinates> tried;    // the position of the shards searched last, in outer_grid
  std::optional<Coordinates> damaged;  // the slice with a damaged chunk, in inner_grid
  for (int i = 0; i < kTries && !StopRequested(); ++i) {
    auto object = LeastObject(source, tried);
    if (!object) return Fail(object);
    if (!*object) break;
    if (!layout.is_sharded()) return **object;
    const auto slice = LeastSlice(source, **object, damaged);
    if (!slice) return Fail(slice);
    if (*slice) return **slice;
    tried = std::move(*object);
  }
  return damaged.value_or(zeros);
}

}  // namespace zarrfs::ctl
