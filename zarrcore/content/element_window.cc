#include "zarrcore/content/element_window.h"

#include <algorithm>

#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

struct Axis {
  uint64_t length;
  uint64_t chunk;
  uint64_t stride = 1;  // the number of elements from one index to the next
  uint64_t chunks = 1;  // the number of chunks that contain elements of one index
};

// Returns the window that contains index `at` of an axis. The result counts indexes, not elements.
std::optional<ElementWindow> StepsAt(const Axis& axis, uint64_t at, uint64_t enough,
                                     uint64_t most) {
  if (axis.chunks > kMaxChunksOfWindow) return std::nullopt;
  const uint64_t fit = most / axis.stride;
  if (fit >= axis.chunk || axis.length <= fit) {
    const uint64_t rows = std::clamp<uint64_t>(enough / axis.stride / axis.chunk, 1,
                                               kMaxChunksOfWindow / axis.chunks);
    const uint64_t steps = std::min(rows * std::min(axis.chunk, axis.length), axis.length);
    const uint64_t begin = at / steps * steps;
    return ElementWindow{begin, std::min(steps, axis.length - begin)};
  }
  if (axis.chunks == 1) return std::nullopt;
  const uint64_t parts = CeilDiv(axis.chunk, fit);
  const uint64_t steps = CeilDiv(axis.chunk, parts);
  const uint64_t chunk = at / axis.chunk * axis.chunk;
  const uint64_t begin = chunk + (at - chunk) / steps * steps;
  const uint64_t end = std::min({begin + steps, chunk + axis.chunk, axis.length});
  return ElementWindow{begin, end - begin};
}

}  // namespace

std::optional<ElementWindow> WindowAt(std::span<const uint64_t> shape,
                                      std::span<const uint64_t> chunk_shape, uint64_t element,
                                      uint64_t enough, uint64_t most) {
  if (shape.empty() || most == 0) return std::nullopt;
  // Finds the first axis of which all elements with the same index fit into a window.
  size_t d = shape.size() - 1;
  Axis axis{shape[d], chunk_shape[d]};
  for (; d > 0 && axis.length * axis.stride <= most; --d) {
    axis = {shape[d - 1], chunk_shape[d - 1], axis.length * axis.stride,
            axis.chunks * CeilDiv(axis.length, axis.chunk)};
  }
  const uint64_t before = element - element % (axis.length * axis.stride);
  const auto steps = StepsAt(axis, (element - before) / axis.stride, enough, most);
  if (!steps) return std::nullopt;
  return ElementWindow{before + steps->first * axis.stride, steps->count * axis.stride};
}

}  // namespace zarrfs
