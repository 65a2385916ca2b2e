#include "zarrcore/metadata/float_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace zarrfs {
namespace {

using Codes = FloatFormat::Codes;

constexpr std::array kFormats = {
    FloatFormat{"float16", 2, 5, 10, 15},
    FloatFormat{"float32", 4, 8, 23, 127},
    FloatFormat{"float64", 8, 11, 52, 1023},
    FloatFormat{"bfloat16", 2, 8, 7, 127},
    FloatFormat{"float8_e3m4", 1, 3, 4, 3},
    FloatFormat{"float8_e4m3", 1, 4, 3, 7},
    FloatFormat{"float8_e4m3fn", 1, 4, 3, 7, Codes::kNanIsAllOnes},
    FloatFormat{"float8_e4m3b11fnuz", 1, 4, 3, 11, Codes::kNanIsMinusZero},
    FloatFormat{"float8_e4m3fnuz", 1, 4, 3, 8, Codes::kNanIsMinusZero},
    FloatFormat{"float8_e5m2", 1, 5, 2, 15},
    FloatFormat{"float8_e5m2fnuz", 1, 5, 2, 16, Codes::kNanIsMinusZero},
    FloatFormat{"float8_e8m0fnu", 1, 8, 0, 127, Codes::kPowersOfTwoOnly},
    FloatFormat{"float6_e2m3fn", 1, 2, 3, 1, Codes::kFinite},
    FloatFormat{"float6_e3m2fn", 1, 3, 2, 3, Codes::kFinite},
    FloatFormat{"float4_e2m1fn", 1, 2, 1, 1, Codes::kFinite},
};

// The code with all exponent and fraction bits set to 1, and the sign bit 0.
uint64_t AllOnes(const FloatFormat& format) {
  return (uint64_t{1} << (format.exponent_bits + format.fraction_bits)) - 1;
}

uint64_t SignBit(const FloatFormat& format) {
  return format.codes == Codes::kPowersOfTwoOnly ? 0 : AllOnes(format) + 1;
}

// The code of positive infinity in an IEEE format.
uint64_t Infinity(const FloatFormat& format) {
  return AllOnes(format) >> format.fraction_bits << format.fraction_bits;
}

uint64_t LargestFinite(const FloatFormat& format) {
  switch (format.codes) {
    case Codes::kIeee:
      return Infinity(format) - 1;
    case Codes::kNanIsAllOnes:
    case Codes::kPowersOfTwoOnly:
      return AllOnes(format) - 1;
    case Codes::kNanIsMinusZero:
    case Codes::kFinite:
      break;
  }
  return AllOnes(format);
}

std::optional<uint64_t> Nan(const FloatFormat& format) {
  switch (format.codes) {
    case Codes::kIeee:
      return Infinity(format) | uint64_t{1} << (format.fraction_bits - 1);
    case Codes::kNanIsAllOnes:
    case Codes::kPowersOfTwoOnly:
      return AllOnes(format);
    case Codes::kNanIsMinusZero:
      return SignBit(format);
    case Codes::kFinite:
      break;
  }
  return std::nullopt;
}

bool IsNan(uint64_t bits, const FloatFormat& format) {
  if (format.codes == Codes::kIeee) return (bits & AllOnes(format)) > Infinity(format);
  if (format.codes == Codes::kNanIsAllOnes) return (bits & AllOnes(format)) == AllOnes(format);
  return bits == Nan(format);
}

// Returns the code of a magnitude: the number of representable magnitudes below it. Subnormals are
// spaced like numbers with the smallest exponent. Rounding up to the next power of two carries into
// the exponent.
uint64_t EncodeMagnitude(double magnitude, const FloatFormat& format) {
  // In formats without zero and subnormals, exponent 0 is an ordinary exponent.
  const bool has_zero = format.codes != Codes::kPowersOfTwoOnly;
  const int smallest = has_zero ? 1 - format.bias : -format.bias;
  const int exponent = magnitude == 0 ? smallest : std::max(std::ilogb(magnitude), smallest);
  auto steps =
      static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
  if (!has_zero) steps = std::max<uint64_t>(steps, 1) - 1;
  return (static_cast<uint64_t>(exponent - smallest) << format.fraction_bits) + steps;
}

}  // namespace

const FloatFormat* FindFloatFormat(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &FloatFormat::name);
  return found == kFormats.end() ? nullptr : found;
}

std::optional<uint64_t> EncodeFloat(double value, const FloatFormat& format) {
  if (std::isnan(value)) return Nan(format);
  const bool is_unsigned = format.codes == Codes::kPowersOfTwoOnly;
  if (value < 0 && is_unsigned) return std::nullopt;
  const uint64_t sign = std::signbit(value) ? SignBit(format) : 0;
  if (std::isinf(value)) {
    if (format.codes != Codes::kIeee) return std::nullopt;
    return sign | Infinity(format);
  }
  const uint64_t magnitude = EncodeMagnitude(std::fabs(value), format);
  if (magnitude > LargestFinite(format)) return std::nullopt;
  if (magnitude == 0 && format.codes == Codes::kNanIsMinusZero) return 0;
  return sign | magnitude;
}

double DecodeFloat(uint64_t bits, const FloatFormat& format) {
  if (IsNan(bits, format)) return std::numeric_limits<double>::quiet_NaN();
  const double sign = (bits & SignBit(format)) != 0 ? -1.0 : 1.0;
  const uint64_t magnitude = bits & AllOnes(format);
  if (format.codes == Codes::kIeee && magnitude == Infinity(format)) {
    return sign * std::numeric_limits<double>::infinity();
  }
  const int exponent = static_cast<int>(magnitude >> format.fraction_bits);
  const uint64_t leading_one = uint64_t{1} << format.fraction_bits;
  const uint64_t fraction = magnitude & (leading_one - 1);
  if (exponent == 0 && format.codes != Codes::kPowersOfTwoOnly) {
    return sign * std::ldexp(static_cast<double>(fraction), 1 - format.bias - format.fraction_bits);
  }
  return sign * std::ldexp(static_cast<double>(leading_one + fraction),
                           exponent - format.bias - format.fraction_bits);
}

bool IsCode(uint64_t bits, const FloatFormat& format) {
  return (bits & ~(AllOnes(format) | SignBit(format))) == 0;
}

}  // namespace zarrfs
