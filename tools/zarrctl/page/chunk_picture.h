// Draws a ChunkMap as a picture: cells shaded by size, and lines between shards.
#pragma once

#include "tools/zarrctl/map/chunk_map.h"
#include "tools/zarrctl/page/png.h"

namespace zarrfs::ctl {

/// Maximum number of cells along each side of a map for DrawChunks().
inline constexpr uint64_t kChunkPictureCells = 96;

/// Draws `map`, which must show sizes and have at least one cell.
[[nodiscard]] Pixels DrawChunks(const ChunkMap& map);

}  // namespace zarrfs::ctl
