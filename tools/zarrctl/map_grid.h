// The cells of a ChunkMap, before any stored object is looked at.
#ifndef TOOLS_ZARRCTL_MAP_GRID_H_
#define TOOLS_ZARRCTL_MAP_GRID_H_

#include <cstdint>
#include <vector>

#include "tools/zarrctl/chunk_map.h"
#include "zarrcore/array/layout.h"

namespace zarrfs::ctl {

/// A map of the slice within the limits of the request: no cell holds anything yet.
[[nodiscard]] ChunkMap MakeMapGrid(const ArrayLayout& layout, const std::vector<uint64_t>& slice,
                                   const MapRequest& request);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_MAP_GRID_H_
