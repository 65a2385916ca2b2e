// The lengths of the chunks along one axis of a "rectilinear" chunk grid. See zarr-extensions,
// "Rectilinear chunk grid".
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

/// A run of chunks of equal length along an axis. It extends from chunk `first` to the chunk before
/// the next run.
struct EdgeRun {
  uint64_t first = 0;
  uint64_t length = 1;
  bool operator==(const EdgeRun&) const = default;
};

/// Maximum number of runs along one axis. Also the maximum number of changes of the chunk length in
/// an array, over all axes.
inline constexpr size_t kMaxEdgeRuns = size_t{1} << 16;

/// Parses an item of "chunk_shapes": one length for all chunks, or a list whose items are a length
/// or [length, count]. `extent` is the length of the array along the axis. Chunks beyond it are
/// dropped, and the last run has no end, so an array that grows by chunks of the same length keeps
/// its runs. Returns at least one run. The first run starts at chunk 0, and adjacent runs differ in
/// length. All numbers are below 2^63. kDamaged if the lengths are invalid, or their sum is less
/// than `extent` or at least 2^63; kUnsupported for more than kMaxEdgeRuns runs.
[[nodiscard]] Result<std::vector<EdgeRun>> ParseChunkEdges(const Json& document, uint64_t extent,
                                                           std::string_view key);

}  // namespace zarrfs
