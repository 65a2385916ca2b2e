// Arithmetic on numbers from a file. The functions return nullopt on overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace zarrfs {

[[nodiscard]] inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

[[nodiscard]] inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// Returns the product of all factors and `last`, or nullopt on overflow.
[[nodiscard]] inline std::optional<uint64_t> CheckedProduct(std::span<const uint64_t> factors,
                                                            uint64_t last = 1) {
  uint64_t product = 1;
  for (const uint64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return CheckedMul(product, last);
}

/// Returns ceil(a / b). `b` must not be 0.
[[nodiscard]] constexpr uint64_t CeilDiv(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace zarrfs
