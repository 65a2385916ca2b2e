#include "zarrcore/codec/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "zarrcore/metadata/float_format.h"

namespace zarrfs {
namespace {

// Bits of a float16: the mask for exponent and fraction, and infinity.
constexpr uint16_t kMagnitude = 0x7fff;
constexpr uint16_t kInfinity = 0x7c00;

const FloatFormat& HalfFormat() {
  static const FloatFormat* const format = FindFloatFormat("float16");
  return *format;
}

template <typename T>
constexpr bool kIsFloat = std::is_same_v<T, Half> || std::is_floating_point_v<T>;

double Round(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven:
      return std::nearbyint(value);  // rounds to even, because no code changes the rounding mode
    case Rounding::kTowardsZero:
      return std::trunc(value);
    case Rounding::kTowardsPositive:
      return std::ceil(value);
    case Rounding::kTowardsNegative:
      return std::floor(value);
    case Rounding::kNearestAway:
      return std::round(value);
  }
  return value;
}

// Returns `value` modulo 2^64. `value` must be finite and integral.
uint64_t Wrap(double value) {
  const double rest = std::fmod(std::abs(value), 0x1p64);
  const auto magnitude = static_cast<uint64_t>(rest);
  return value < 0 ? 0 - magnitude : magnitude;
}

template <typename T>
bool FloatToInteger(double value, Conversion conversion, T& to) {
  constexpr T kMin = std::numeric_limits<T>::min();
  constexpr T kMax = std::numeric_limits<T>::max();
  if (std::isnan(value)) return false;
  const double whole = Round(value, conversion.rounding);
  // A double may be unable to represent kMax, so compare with kMax + 1, which is 2^digits.
  if (whole >= static_cast<double>(kMin) &&
      whole < std::ldexp(1.0, std::numeric_limits<T>::digits)) {
    to = static_cast<T>(whole);
    return true;
  }
  switch (conversion.out_of_range) {
    case OutOfRange::kError:
      return false;
    case OutOfRange::kClamp:
      to = whole < 0 ? kMin : kMax;
      return true;
    case OutOfRange::kNumpy:
      if (std::abs(whole) >= 0x1p31) return false;
      [[fallthrough]];
    case OutOfRange::kWrap:
      if (std::isinf(whole)) return false;
      to = static_cast<T>(Wrap(whole));
      return true;
  }
  return false;
}

template <typename T, typename S>
bool IntegerToInteger(S value, OutOfRange out_of_range, T& to) {
  to = static_cast<T>(value);
  if (std::in_range<T>(value)) return true;
  if (out_of_range == OutOfRange::kClamp) {
    to = value < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
  return out_of_range != OutOfRange::kError;
}

template <typename T>
bool ToFloat(auto value, OutOfRange out_of_range, T& to) {
  // For float16, converts through a double. This rounds only once, because an integer that a double
  // cannot represent exceeds the range of float16.
  if constexpr (std::is_same_v<T, Half>) {
    to = Half::From(static_cast<double>(value));
  } else {
    to = static_cast<T>(value);
  }
  const auto is_infinite = [](T number) {
    if constexpr (std::is_same_v<T, Half>) return (number.bits & kMagnitude) == kInfinity;
    if constexpr (std::is_floating_point_v<T>) return std::isinf(number);
  };
  if (out_of_range == OutOfRange::kNumpy || !is_infinite(to) ||
      std::isinf(static_cast<double>(value))) {
    return true;
  }
  if (out_of_range != OutOfRange::kClamp) return false;
  if constexpr (std::is_same_v<T, Half>) {
    to.bits = static_cast<uint16_t>(to.bits - 1);  // the largest finite float16
  } else {
    to = std::copysign(std::numeric_limits<T>::max(), to);
  }
  return true;
}

template <typename T, typename S>
bool Convert(S value, Conversion conversion, T& to) {
  if constexpr (std::is_same_v<S, Half>) {
    return Convert(value.ToDouble(), conversion, to);
  } else if constexpr (std::is_same_v<S, bool>) {
    return Convert(uint8_t{value}, conversion, to);
  } else if constexpr (std::is_same_v<T, bool>) {
    to = value != 0;
    return true;
  } else if constexpr (kIsFloat<T>) {
    return ToFloat(value, conversion.out_of_range, to);
  } else if constexpr (kIsFloat<S>) {
    return FloatToInteger(static_cast<double>(value), conversion, to);
  } else {
    return IntegerToInteger(value, conversion.out_of_range, to);
  }
}

// Converts elements until one cannot be converted. Returns the number of converted elements.
template <typename S, typename T>
size_t ConvertAll(BytesView from, Conversion conversion, Bytes& to) {
  const size_t count = from.size() / sizeof(S);
  for (size_t i = 0; i < count; ++i) {
    T value = {};
    if (!Convert(LoadElement<S>(from.data() + i * sizeof(S)), conversion, value)) return i;
    StoreElement(to.data() + i * sizeof(T), value);
  }
  return count;
}

template <typename S>
std::string Text(const std::byte* element) {
  const S value = LoadElement<S>(element);
  if constexpr (std::is_same_v<S, Half>) {
    return fmt::format("{}", value.ToDouble());
  } else {
    return fmt::format("{}", value);
  }
}

}  // namespace

// Half::ToDouble() and Half::From() keep the sign of a NaN.
double Half::ToDouble() const {
  const double magnitude = DecodeFloat(bits & kMagnitude, HalfFormat());
  return bits > kMagnitude ? -magnitude : magnitude;
}

Half Half::From(double value) {
  const uint64_t magnitude = EncodeFloat(std::abs(value), HalfFormat()).value_or(kInfinity);
  return Half{static_cast<uint16_t>(magnitude | (std::signbit(value) ? kMagnitude + 1 : 0))};
}

DataType PromotedType(const DataType& a, const DataType& b) {
  if (a.kind == DataKind::kFloat || b.kind == DataKind::kFloat) {
    // Returns the size in bytes of the smallest float type that holds all values of `type`; at most
    // 8.
    const auto float_size = [](const DataType& type) {
      return type.kind == DataKind::kFloat ? type.item_size
                                           : std::min<size_t>(2 * type.item_size, 8);
    };
    return CoreType(fmt::format("float{}", 8 * std::max(float_size(a), float_size(b))));
  }
  if (a.kind == b.kind) return a.item_size < b.item_size ? b : a;
  const DataType& with_sign = a.kind == DataKind::kInt ? a : b;
  const DataType& without = a.kind == DataKind::kInt ? b : a;
  const size_t size = std::max(with_sign.item_size, 2 * without.item_size);
  return CoreType(size <= 8 ? fmt::format("int{}", 8 * size) : "float64");
}

Result<Bytes> ConvertElements(Bytes elements, const DataType& from, const DataType& to,
                              Conversion conversion) {
  if (from.name == to.name) return elements;
  const size_t count = elements.size() / from.item_size;
  Bytes converted(count * to.item_size);
  return WithElementType(from, [&]<typename S>(std::type_identity<S>) -> Result<Bytes> {
    const size_t done = WithElementType(to, [&]<typename T>(std::type_identity<T>) {
      return ConvertAll<S, T>(elements, conversion, converted);
    });
    if (done < count) {
      return Fail(ErrorCode::kDamaged, "element {} is {}, which {} cannot represent", done,
                  Text<S>(elements.data() + done * sizeof(S)), to.name);
    }
    return std::move(converted);
  });
}

}  // namespace zarrfs
