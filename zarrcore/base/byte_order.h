// Loads and stores integers in a given byte order at unaligned addresses.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace zarrfs {

template <std::unsigned_integral T>
[[nodiscard]] constexpr T ByteSwap(T value) {
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(value));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(value));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(value));
}

/// Reads sizeof(T) bytes at `from`, least significant byte first.
template <std::unsigned_integral T>
[[nodiscard]] inline T LoadLittle(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::little ? value : ByteSwap(value);
}

/// Reads sizeof(T) bytes at `from`, most significant byte first.
template <std::unsigned_integral T>
[[nodiscard]] inline T LoadBig(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::big ? value : ByteSwap(value);
}

/// Writes sizeof(T) bytes at `to`, least significant byte first.
template <std::unsigned_integral T>
inline void StoreLittle(std::byte* to, T value) {
  if constexpr (std::endian::native != std::endian::little) value = ByteSwap(value);
  std::memcpy(to, &value, sizeof value);
}

/// Loads and stores integers of up to 8 bytes, least significant byte first.
[[nodiscard]] inline uint64_t LoadLittle(std::span<const std::byte> from) {
  uint64_t value = 0;
  for (size_t i = from.size(); i-- > 0;) value = value << 8 | static_cast<uint64_t>(from[i]);
  return value;
}
inline void StoreLittle(std::span<std::byte> to, uint64_t value) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

/// Reverses the bytes of each element of `item_size` bytes in place.
void ReverseEachItem(std::span<std::byte> items, size_t item_size);

}  // namespace zarrfs
