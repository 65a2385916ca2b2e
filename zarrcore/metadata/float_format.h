// Floating point numbers of 4 to 64 bits as bits.
//
// The core specification has float16, float32 and float64; the extension types bfloat16, float8_*,
// float6_* and float4_* are named after the bits of exponent and fraction and after what their
// codes give up of IEEE 754: "fn" has no infinity, "fnuz" moreover no negative zero (its code is
// the NaN), "fnu" neither sign nor zero.
#ifndef ZARRCORE_METADATA_FLOAT_FORMAT_H_
#define ZARRCORE_METADATA_FLOAT_FORMAT_H_

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

/// By the name of the data type; null for any other.
[[nodiscard]] const FloatFormat* FindFloatFormat(std::string_view name);

/// The nearest number of the format, ties to even; the canonical NaN for any NaN. Nothing for what
/// is beyond its range, and for an infinity or a NaN that it does not have.
[[nodiscard]] std::optional<uint64_t> EncodeFloat(double value, const FloatFormat& format);

/// Exact, but for the payload of NaNs. Bits above those of the format mean nothing.
[[nodiscard]] double DecodeFloat(uint64_t bits, const FloatFormat& format);

/// Whether no bit above those of the format is set.
[[nodiscard]] bool IsCode(uint64_t bits, const FloatFormat& format);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_FLOAT_FORMAT_H_
