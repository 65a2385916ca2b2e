#include "tools/zarrctl/page/chunk_picture.h"

#include <algorithm>

#include "tools/zarrctl/map/map_view.h"
#include "tools/zarrctl/page/colours.h"

namespace zarrfs::ctl {
namespace {

constexpr uint64_t kLongerSide = 288;  // approximate, in pixels
constexpr uint64_t kMaxCellPixels = 24;
constexpr uint64_t kMinGapped = 4;

// The palette begins with entries that have fixed colours. The entries for sizes follow.
constexpr uint8_t kOutsideCell = 0;
constexpr uint8_t kNoShardCell = 1;
constexpr uint8_t kNotStoredCell = 2;
constexpr uint8_t kDamagedCell = 3;
constexpr uint8_t kShardSide = 4;

}  // namespace

Pixels DrawChunks(const ChunkMap& map) {
  const NumberPalette palette(
      {kTransparent, kNoShardColour, kNotStoredColour, kDamagedColour, kLineColour});
  const MapScale scale(map);
  const uint64_t longest = std::max(map.grid_rows, map.grid_columns);
  const uint64_t cell = std::clamp<uint64_t>(kLongerSide / longest, 1, kMaxCellPixels);
  const uint64_t gap = cell >= kMinGapped ? 1 : 0;
  Pixels pixels{.width = static_cast<uint32_t>(map.grid_columns * cell + gap),
                .height = static_cast<uint32_t>(map.grid_rows * cell + gap),
                .palette = palette.colours()};
  const uint8_t background = map.has_shards() ? kNoShardCell : kNotStoredCell;
  pixels.bytes.assign(size_t{pixels.width} * pixels.height, background);
  const auto fill = [&](uint64_t x, uint64_t y, uint64_t width, uint64_t height, uint8_t colour) {
    for (uint64_t line = y; line < y + height; ++line) {
      const auto begin = pixels.bytes.begin() + static_cast<ptrdiff_t>(line * pixels.width + x);
      std::fill_n(begin, width, colour);
    }
  };
  for (uint64_t row = 0; row < map.grid_rows; ++row) {
    for (uint64_t column = 0; column < map.grid_columns; ++column) {
      const MapCell& at = map.at(row, column);
      uint8_t colour = at.in_object || !map.has_shards() ? kNotStoredCell : kNoShardCell;
      if (at.places == 0) colour = kOutsideCell;
      if (at.stored > 0) colour = palette.Of(scale(at));
      if (at.damaged > 0) colour = kDamagedCell;
      fill(column * cell + gap, row * cell + gap, cell - gap, cell - gap, colour);
    }
  }
  // In a folded map, each row continues the row above, so shards have no straight boundaries to
  // draw.
  if (gap == 0 || map.is_folded) return pixels;
  const auto is_side = [](uint64_t at, uint64_t length, uint64_t shard) {
    return shard != 0 && at * length % shard == 0;
  };
  for (uint64_t column = 0; map.has_shards() && column <= map.grid_columns; ++column) {
    if (!is_side(column, map.cell_columns, map.shard_columns)) continue;
    fill(column * cell, 0, 1, pixels.height, kShardSide);
  }
  for (uint64_t row = 0; map.has_shards() && row <= map.grid_rows; ++row) {
    if (!is_side(row, map.cell_rows, map.shard_rows)) continue;
    fill(0, row * cell, pixels.width, 1, kShardSide);
  }
  return pixels;
}

}  // namespace zarrfs::ctl
