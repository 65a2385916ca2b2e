// A ChunkMap as a PNG file: cells shaded by size, lines between shards.
#pragma once

#include "tools/zarrctl/map/chunk_map.h"
#include "tools/zarrctl/page/png.h"

namespace zarrfs::ctl {

/// Cells that a map for DrawChunks() may have along each side.
inline constexpr uint64_t kChunkPictureCells = 96;

/// `map`: by size, of one cell at least.
[[nodiscard]] Pixels DrawChunks(const ChunkMap& map);

}  // namespace zarrfs::ctl
