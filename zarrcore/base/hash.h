// Combines integers into a hash, for hash tables and for detecting changes. Not cryptographic: use
// zarrcore/base/digest.h if an attacker could craft the values.
#pragma once

#include <cstdint>

namespace zarrfs {

/// Mixes `field` into `hash` with the finalizer of MurmurHash3: changing one bit of the input
/// changes half of the output bits on average. The order of the fields matters.
[[nodiscard]] constexpr uint64_t HashCombine(uint64_t hash, uint64_t field) {
  uint64_t x = hash * 0x9e3779b97f4a7c15 + field + 0x632be59bd9b4e019;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

template <typename... Integers>
[[nodiscard]] constexpr uint64_t HashFields(Integers... fields) {
  uint64_t hash = 0;
  ((hash = HashCombine(hash, static_cast<uint64_t>(fields))), ...);
  return hash;
}

}  // namespace zarrfs
