#include "zarrcore/array/chunk_grid.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "zarrcore/base/checked.h"

namespace zarrfs {

std::optional<uint64_t> ParseCoordinate(std::string_view text, uint64_t count) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value >= count) {
    return std::nullopt;
  }
  return value;
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
