// The lengths of the chunks along one axis of a "rectilinear" chunk grid (zarr-extensions,
// "Rectilinear chunk grid").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Maximum length of a dimension of an array or chunk, in elements.
inline constexpr uint64_t kMaxExtent = (uint64_t{1} << 63) - 1;

/// Chunks of one length along an axis: from chunk `first` up to that of the next run.
struct EdgeRun {
  uint64_t first = 0;
  uint64_t length = 1;
  bool operator==(const EdgeRun&) const = default;
};

/// Maximum for all axes of an array together.
inline constexpr size_t kMaxEdgeRuns = size_t{1} << 16;

/// Parses an item of "chunk_shapes": one length for all chunks, or a list of lengths and of
/// [length, count]. Chunks beyond `extent`, the array's, are dropped, and the last run has no end,
/// so an array that grows by chunks of the same length keeps its runs. There is at least one run,
/// with `first` 0; no two neighbours have the same length. All numbers are below 2^63. kDamaged if
/// the lengths are invalid, or add up to less than `extent` or to 2^63 or more; kUnsupported for
/// more than kMaxEdgeRuns runs.
[[nodiscard]] Result<std::vector<EdgeRun>> ParseChunkEdges(const Json& document, uint64_t extent,
                                                           std::string_view key);

}  // namespace zarrfs
