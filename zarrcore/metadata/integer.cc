#include "zarrcore/metadata/integer.h"

#include <cmath>

namespace zarrfs {
namespace {

// Above this, a double may be the neighbour of the integer that was written.
constexpr double kMaxExactInteger = 9007199254740992.0;  // 2^53

}  // namespace

std::optional<uint64_t> ParseInteger(const Json& json, size_t bits, bool is_signed) {
  bool negative = false;
  uint64_t magnitude = 0;
  if (json.is_number_unsigned()) {
    magnitude = json.get<uint64_t>();
  } else if (json.is_number_integer()) {
    const auto value = json.get<int64_t>();
    negative = value < 0;
    magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  } else if (json.is_number_float()) {
    const auto value = json.get<double>();
    if (!(std::fabs(value) <= kMaxExactInteger) || value != std::trunc(value)) return std::nullopt;
    negative = value < 0;
    magnitude = static_cast<uint64_t>(std::fabs(value));
  } else {
    return std::nullopt;
  }
  const uint64_t all_ones = ~uint64_t{0} >> (64 - bits);
  const uint64_t largest = is_signed ? all_ones / 2 : all_ones;
  if (negative && (!is_signed || magnitude > largest + 1)) return std::nullopt;
  if (!negative && magnitude > largest) return std::nullopt;
  return negative ? 0 - magnitude : magnitude;
}

}  // namespace zarrfs
