// Windows: the runs of elements to assemble at a time for a reader of an array in C order.
//
// A chunk that spans several steps along an axis is needed at each of these steps, and all its
// neighbours are needed between two steps. A window contains all steps of these chunks, so each
// chunk is decoded once. If such a window exceeds the limit, it is split into windows with equal
// numbers of steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace zarrfs {

struct ElementWindow {
  uint64_t first = 0;
  uint64_t count = 0;
};

/// Maximum number of chunks in a window. One request may have to wait for all of them.
inline constexpr uint64_t kMaxChunksOfWindow = 4096;

/// The window that contains element number `element`, which must exist. Windows do not overlap. If
/// chunks are small, a window has several rows of chunks, up to `enough` elements. Otherwise, it
/// has up to `most` elements. nullopt if windows do not help, because one step does not fit, chunks
/// are contiguous, or one step has more than kMaxChunksOfWindow chunks.
[[nodiscard]] std::optional<ElementWindow> WindowAt(std::span<const uint64_t> shape,
                                                    std::span<const uint64_t> chunk_shape,
                                                    uint64_t element, uint64_t enough,
                                                    uint64_t most);

}  // namespace zarrfs
