#include "zarrcore/array/chunk_grid.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/base/number_text.h"

namespace zarrfs {

std::optional<uint64_t> ParseCoordinate(std::string_view text, uint64_t count) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  const auto value = NumberFrom<uint64_t>(text);
  return value && *value < count ? value : std::nullopt;
}

Result<ChunkGrid> ChunkGrid::Make(std::span<const uint64_t> shape,
                                  std::span<const uint64_t> chunk_shape) {
  std::vector<uint64_t> counts;
  for (size_t d = 0; d < shape.size(); ++d) counts.push_back(CeilDiv(shape[d], chunk_shape[d]));
  return OfCounts(std::move(counts));
}

Result<ChunkGrid> ChunkGrid::OfCounts(std::vector<uint64_t> counts) {
  ChunkGrid grid;
  grid.counts_ = std::move(counts);
  if (std::ranges::find(grid.counts_, 0u) != grid.counts_.end()) {
    grid.size_ = 0;
    return grid;
  }
  const auto size = CheckedProduct(grid.counts_);
  if (!size || *size > kMaxChunksPerArray) {
    return Fail(ErrorCode::kUnsupported, "the array has {} chunks, more than 2^40",
                fmt::join(grid.counts_, " x "));
  }
  grid.size_ = *size;
  return grid;
}

}  // namespace zarrfs
