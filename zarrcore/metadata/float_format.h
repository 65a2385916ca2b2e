// Bit formats of floating point numbers of 4 to 64 bits.
//
// The core specification has float16, float32 and float64; the extension types bfloat16, float8_*,
// float6_* and float4_* are named after the bits of exponent and fraction and after the parts of
// IEEE 754 that they lack: "fn" has no infinity, "fnuz" also no negative zero (its code is the
// NaN), "fnu" neither sign nor zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrfs {

struct FloatFormat {
  enum class Codes {
    kIeee,             // the largest exponent is infinity and NaN
    kNanIsAllOnes,     // every other code is finite
    kNanIsMinusZero,   // every other code is finite
    kFinite,           // neither infinity nor NaN
    kPowersOfTwoOnly,  // no sign, no zero; all ones is NaN
  };
  std::string_view name;
  size_t size;  // bytes; unused upper bits are 0
  int exponent_bits;
  int fraction_bits;
  int bias;
  Codes codes = Codes::kIeee;
};

/// Finds a format by the name of the data type; null for any other name.
[[nodiscard]] const FloatFormat* FindFloatFormat(std::string_view name);

/// The nearest number of the format, ties to even; the canonical NaN for any NaN. nullopt for
/// values out of range, and for infinity and NaN if the format has none.
[[nodiscard]] std::optional<uint64_t> EncodeFloat(double value, const FloatFormat& format);

/// Exact, except for the payload of NaNs. Ignores bits above those of the format.
[[nodiscard]] double DecodeFloat(uint64_t bits, const FloatFormat& format);

/// Whether all bits above those of the format are 0.
[[nodiscard]] bool IsCode(uint64_t bits, const FloatFormat& format);

}  // namespace zarrfs
