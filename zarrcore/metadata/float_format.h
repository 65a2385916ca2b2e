// Bit formats of floating-point numbers of 4 to 64 bits. The code of a number is its bit pattern.
//
// The core specification has float16, float32 and float64. The extension types bfloat16, float8_*,
// float6_* and float4_* are named after their numbers of exponent and fraction bits, and after the
// parts of IEEE 754 that they lack: "fn" has no infinity; "fnuz" has no infinity, and the code of
// negative zero is NaN; "fnu" has no infinity, sign or zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrfs {

struct FloatFormat {
  enum class Codes {
    kIeee,             // codes with the largest exponent are infinity or NaN
    kNanIsAllOnes,     // all ones is NaN; every other code is finite
    kNanIsMinusZero,   // the code of -0 is NaN; every other code is finite
    kFinite,           // every code is finite
    kPowersOfTwoOnly,  // no sign, no zero; all ones is NaN
  };
  std::string_view name;
  size_t size;  // bytes per number; bits above the width of the format are 0
  int exponent_bits;
  int fraction_bits;
  int bias;
  Codes codes = Codes::kIeee;
};

/// The format of the data type called `name`. Null if that type is not a float.
[[nodiscard]] const FloatFormat* FindFloatFormat(std::string_view name);

/// Returns the code of the number nearest to `value`. Ties round to the even code. Any NaN becomes
/// the canonical NaN. nullopt if `value` is out of range, or is an infinity or NaN that the format
/// lacks.
[[nodiscard]] std::optional<uint64_t> EncodeFloat(double value, const FloatFormat& format);

/// Returns the value that `bits` represents, exact except for the payload of NaNs. Ignores bits
/// above the width of the format.
[[nodiscard]] double DecodeFloat(uint64_t bits, const FloatFormat& format);

/// True if all bits above the width of the format are 0.
[[nodiscard]] bool IsCode(uint64_t bits, const FloatFormat& format);

}  // namespace zarrfs
