#include "zarrcore/base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace zarrfs {

void Crc32cSum::Add(std::span<const std::byte> piece) {
  // The library takes an int length, and leaves both inversions of the standard to the caller.
  constexpr size_t kLongestRun = size_t{1} << 30;
  while (!piece.empty()) {
    const std::span<const std::byte> run = piece.first(std::min(piece.size(), kLongestRun));
    // The library only reads it, but its API predates const.
    auto* start = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(run.data()));
    state_ = crc32_iscsi(start, static_cast<int>(run.size()), state_);
    piece = piece.subspan(run.size());
  }
}

uint32_t Crc32c(std::span<const std::byte> bytes) {
  Crc32cSum sum;
  sum.Add(bytes);
  return sum.value();
}

}  // namespace zarrfs
