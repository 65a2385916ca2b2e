// GrowingOutput: a buffer for an unknown number of decoded bytes, which grows up to a limit.
#pragma once

#include <algorithm>
#include <span>

#include "zarrcore/codec/codec.h"

namespace zarrfs {

class GrowingOutput {
 public:
  /// `limit`: maximum number of decoded bytes.
  explicit GrowingOutput(uint64_t limit) : limit_(std::min<uint64_t>(limit, INT64_MAX / 4)) {}

  /// Returns the free part of the buffer. It is empty once more than `limit` bytes were written.
  [[nodiscard]] std::span<std::byte> Space() {
    if (used_ == bytes_.size()) {
      // Reserves the maximum size immediately, because a later reallocation would hold old and new
      // bytes in memory at the same time. Pages that were not written use no memory.
      if (used_ == 0) bytes_.reserve(std::min(limit_ + 1, kMaxReserved));
      // Allows one byte more than the limit, so an output that is too long is detected.
      bytes_.resize(std::min<uint64_t>(limit_ + 1, std::max<uint64_t>(kFirst, 2 * used_)));
    }
    return std::span(bytes_).subspan(used_);
  }

  /// Records that `count` bytes were written to Space().
  void Written(size_t count) { used_ += count; }

  [[nodiscard]] bool full() const { return used_ > limit_; }
  [[nodiscard]] Bytes Take() && {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  static constexpr uint64_t kFirst = 64 << 10;
  // Maximum number of bytes to reserve at the start. No chunk needs more.
  static constexpr uint64_t kMaxReserved = 2 * kMaxChunkBytes;

  const uint64_t limit_;
  Bytes bytes_;
  size_t used_ = 0;
};

}  // namespace zarrfs
