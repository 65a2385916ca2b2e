#include "zarrcore/base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace zarrfs {
namespace {

// Constants for arithmetic on polynomials over GF(2), modulo the polynomial of CRC-32C. As in
// zlib's crc32_combine(), the highest bit is the coefficient of x^0.
constexpr uint32_t kPolynomial = 0x82f63b78;
constexpr uint32_t kOne = 1U << 31;
constexpr uint32_t kX8 = kOne >> 8;

constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if ((a & kOne) != 0) product ^= b;
    b = (b & 1) != 0 ? b >> 1 ^ kPolynomial : b >> 1;
  }
  return product;
}

}  // namespace

uint32_t CombineCrc32c(uint32_t first, uint32_t second, uint64_t second_length) {
  uint32_t shift = kOne;
  uint32_t power = kX8;  // x^(8 * 2^i)
  for (; second_length != 0; second_length >>= 1) {
    if ((second_length & 1) != 0) shift = Multiply(shift, power);
    power = Multiply(power, power);
  }
  return Multiply(shift, first) ^ second;
}

void Crc32cSum::Add(std::span<const std::byte> piece) {
  // crc32_iscsi() of ISA-L takes the length as an int. Its caller must invert the initial value and
  // the result, as the standard requires.
  constexpr size_t kMaxRun = size_t{1} << 30;
  while (!piece.empty()) {
    const std::span<const std::byte> run = piece.first(std::min(piece.size(), kMaxRun));
    // ISA-L only reads the buffer, but takes a pointer to non-const.
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
