// ElementWindow: a run of elements that is assembled as a whole for a reader that reads an array in
// C order.
//
// Such a reader needs a chunk that spans several indexes of an axis at each of these indexes, and
// needs the neighbours of the chunk in between. A window covers all indexes that its chunks span,
// so each chunk is decoded only one time. A window that exceeds the limit is split into windows
// with equal numbers of indexes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace zarrfs {

struct ElementWindow {
  uint64_t first = 0;
  uint64_t count = 0;
};

/// Maximum number of chunks in a window. One request may have to wait for all these chunks.
inline constexpr uint64_t kMaxChunksOfWindow = 4096;

/// Returns the window that contains element number `element`, which must exist. Windows do not
/// overlap. If chunks are small, a window has several rows of chunks, up to `enough` elements.
/// Otherwise, it has up to `most` elements. Returns nullopt if windows do not help: the shape is
/// empty, `most` is 0, one index of an axis has more than kMaxChunksOfWindow chunks, or chunks
/// exceed `most` but are contiguous.
[[nodiscard]] std::optional<ElementWindow> WindowAt(std::span<const uint64_t> shape,
                                                    std::span<const uint64_t> chunk_shape,
                                                    uint64_t element, uint64_t enough,
                                                    uint64_t most);

}  // namespace zarrfs
