// A buffer for decoded bytes of unknown number, which grows up to a limit.
#pragma once

#include <algorithm>
#include <span>

#include "zarrcore/codec/codec.h"

namespace zarrfs {

class GrowingOutput {
 public:
  /// `limit`: as for BytesToBytesCodec::Decode().
  explicit GrowingOutput(uint64_t limit) : limit_(std::min<uint64_t>(limit, INT64_MAX / 4)) {}

  /// Where to write next. Empty after more than the limit was written.
  [[nodiscard]] std::span<std::byte> Space() {
    if (used_ == bytes_.size()) {
      // Reserved at once: otherwise old and new bytes are in memory during a reallocation.
      // Untouched pages use no memory.
      if (used_ == 0) bytes_.reserve(std::min(limit_ + 1, kMaxReserved));
      // One byte more than allowed, to detect output that is too long.
      bytes_.resize(std::min<uint64_t>(limit_ + 1, std::max<uint64_t>(kFirst, 2 * used_)));
    }
    return std::span(bytes_).subspan(used_);
  }

  /// `count` bytes of Space() were written.
  void Written(size_t count) { used_ += count; }

  [[nodiscard]] bool full() const { return used_ > limit_; }
  [[nodiscard]] Bytes Take() && {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  static constexpr uint64_t kFirst = 64 << 10;
  // No chunk needs more, regardless of the limit.
  static constexpr uint64_t kMaxReserved = 2 * kMaxChunkBytes;

  const uint64_t limit_;
  Bytes bytes_;
  size_t used_ = 0;
};

}  // namespace zarrfs
