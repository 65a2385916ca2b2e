// CRC-32C (Castagnoli), the checksum that iSCSI and Zarr's `crc32c` codec use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace zarrfs {

/// Computes the checksum of bytes that are added piece by piece.
class Crc32cSum {
 public:
  void Add(std::span<const std::byte> piece);
  [[nodiscard]] uint32_t value() const { return ~state_; }

 private:
  uint32_t state_ = 0xffffffff;
};

/// Returns the checksum of `bytes`, which is 0xE3069283 for the ASCII string "123456789".
[[nodiscard]] uint32_t Crc32c(std::span<const std::byte> bytes);

/// Returns the checksum of two adjacent byte ranges, given the checksum of each range and the
/// length of the second range in bytes.
[[nodiscard]] uint32_t CombineCrc32c(uint32_t first, uint32_t second, uint64_t second_length);

}  // namespace zarrfs
