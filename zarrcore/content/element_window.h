// Windows: the runs of elements in which an array is best assembled for a reader who goes through
// it in C order.
//
// A chunk that has several steps along an axis is needed again at each of them, after all chunks
// beside it. A window has all of these steps, so that each chunk is decoded once; or, if that is
// more than there may be, as many steps as fit, in parts of equal length.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace zarrfs {

struct ElementWindow {
  uint64_t first = 0;
  uint64_t count = 0;
};

/// One request may have to wait for all of them.
inline constexpr uint64_t kMaxChunksOfWindow = 4096;

/// The window that has element number `element`, which must exist; windows do not overlap. Of small
/// chunks it has several rows, up to `enough` elements, and of others at most `most`. nullopt if
/// windows do not help: fewer steps than one fit, chunks larger than that lie one after the other,
/// or one step has elements of more than kMaxChunksOfWindow chunks.
[[nodiscard]] std::optional<ElementWindow> WindowAt(std::span<const uint64_t> shape,
                                                    std::span<const uint64_t> chunk_shape,
                                                    uint64_t element, uint64_t enough,
                                                    uint64_t most);

}  // namespace zarrfs
