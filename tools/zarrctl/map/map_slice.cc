// Which slice of an array with more than two axes a map shows: chunk numbers along all axes but the
// last two.
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

using Coordinates = std::vector<uint64_t>;  // along the leading axes: all but the last two

constexpr int kTries = 16;  // shards without a chunk are rare

size_t LeadingAxes(const ChunkGrid& grid) { return grid.rank() > 2 ? grid.rank() - 2 : 0; }

Coordinates LeadingCoordinates(const ChunkGrid& grid, uint64_t linear) {
  Coordinates at = CoordinatesOf(linear, grid);
  at.resize(LeadingAxes(grid));
  return at;
}

// The least coordinates of a stored object, beyond `after` if that is given.
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

// The least slice with a chunk in the shards at `at`. Where there is none, `damaged` becomes a
// slice with a damaged chunk, unless it has one already; the map reports the damage.
Result<std::optional<Coordinates>> LeastSlice(const ChunkSource& source, Coordinates at,
                                              std::optional<Coordinates>& damaged) {
  const ArrayLayout& layout = source.layout();
  for (size_t d = 0; d < at.size(); ++d) at[d] = layout.FirstInner(d, at[d]);
  std::optional<Coordinates> least;
  const auto visited = source.VisitOuter(at, [&](OuterIndex outer) {
    // In row-major order: the first chunk that is stored is the least of its shard.
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
  std::optional<Coordinates> tried;    // of outer_grid
  std::optional<Coordinates> damaged;  // of inner_grid
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
