// Windows: the runs of elements in which to assemble an array for a reader who goes through it in C
// order.
//
// A chunk with several steps along an axis is needed again at each of them, after all chunks next
// to it. A window contains all of these steps, so that each chunk is decoded once; or, if that
// exceeds the limit, as many steps as fit, in parts of equal length.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace zarrfs {

struct ElementWindow {
  uint64_t first = 0;
  uint64_t count = 0;
};

/// Limit because one request may have to wait for all of them.
inline constexpr uint64_t kMaxChunksOfWindow = 4096;

/// The window that contains element number `element`, which must exist; windows do not overlap.
/// With small chunks it has several rows, up to `enough` elements, otherwise at most `most`.
/// nullopt if windows do not help: not even one step fits, larger chunks are contiguous, or one
/// step has elements of more than kMaxChunksOfWindow chunks.
[[nodiscard]] std::optional<ElementWindow> WindowAt(std::span<const uint64_t> shape,
                                                    std::span<const uint64_t> chunk_shape,
                                                    uint64_t element, uint64_t enough,
                                                    uint64_t most);

}  // namespace zarrfs
