// Which slice of an array with more than two axes a map shows: chunk numbers along all axes but the
// last two.
#ifndef TOOLS_ZARRCTL_MAP_SLICE_H_
#define TOOLS_ZARRCTL_MAP_SLICE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"

namespace zarrfs::ctl {

/// Parses "3,0". kInvalidArgument, with what to write instead, unless it is a slice of the grid.
[[nodiscard]] Result<std::vector<uint64_t>> ParseSlice(std::string_view text,
                                                       const ChunkGrid& grid);

/// The least slice with a chunk; else one with a damaged chunk, else zeros.
[[nodiscard]] Result<std::vector<uint64_t>> FirstSliceWithChunks(const ChunkSource& source);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_MAP_SLICE_H_
