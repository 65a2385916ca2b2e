// Converts numbers between data types.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// A float16: binary16 of IEEE 754.
struct Half {
  uint16_t bits = 0;

  // Rounds to the nearest float16. Ties round to even.
  [[nodiscard]] static Half From(double value);
  [[nodiscard]] double ToDouble() const;

  friend Half operator+(Half a, Half b) { return From(a.ToDouble() + b.ToDouble()); }
  friend Half operator-(Half a, Half b) { return From(a.ToDouble() - b.ToDouble()); }
  friend Half operator/(Half a, Half b) { return From(a.ToDouble() / b.ToDouble()); }
};

/// True if `type` is bool, an integer or a float of the core specification.
[[nodiscard]] inline bool IsNumber(const DataType& type) {
  return type.kind == DataKind::kBool || type.kind == DataKind::kInt ||
         type.kind == DataKind::kUint || type.kind == DataKind::kFloat;
}

[[nodiscard]] inline bool IsIntegerOrFloat(const DataType& type) {
  return IsNumber(type) && type.kind != DataKind::kBool;
}

/// Calls `visit(std::type_identity<T>())`, where T is the C++ type of an element of `type`.
/// IsNumber(type) must be true.
template <typename Visit>
auto WithElementType(const DataType& type, Visit&& visit) {
  switch (type.kind) {
    case DataKind::kBool:
      return visit(std::type_identity<bool>());
    case DataKind::kInt:
      if (type.item_size == 1) return visit(std::type_identity<int8_t>());
      if (type.item_size == 2) return visit(std::type_identity<int16_t>());
      if (type.item_size == 4) return visit(std::type_identity<int32_t>());
      return visit(std::type_identity<int64_t>());
    case DataKind::kUint:
      if (type.item_size == 1) return visit(std::type_identity<uint8_t>());
      if (type.item_size == 2) return visit(std::type_identity<uint16_t>());
      if (type.item_size == 4) return visit(std::type_identity<uint32_t>());
      return visit(std::type_identity<uint64_t>());
    default:
      if (type.item_size == 2) return visit(std::type_identity<Half>());
      if (type.item_size == 4) return visit(std::type_identity<float>());
      return visit(std::type_identity<double>());
  }
}

template <size_t kSize>
using BitsOf = std::conditional_t<
    kSize == 1, uint8_t,
    std::conditional_t<kSize == 2, uint16_t, std::conditional_t<kSize == 4, uint32_t, uint64_t>>>;

/// Loads an element of a decoded chunk. For bool, any nonzero byte is true.
template <typename T>
[[nodiscard]] T LoadElement(const std::byte* from) {
  const auto bits = LoadLittle<BitsOf<sizeof(T)>>(from);
  if constexpr (std::is_same_v<T, bool>) {
    return bits != 0;
  } else {
    return std::bit_cast<T>(bits);
  }
}

template <typename T>
void StoreElement(std::byte* to, T value) {
  StoreLittle(to, std::bit_cast<BitsOf<sizeof(T)>>(value));
}

/// How to round a float to an integer.
enum class Rounding {
  kNearestEven,
  kTowardsZero,
  kTowardsPositive,
  kTowardsNegative,
  kNearestAway
};

/// How to convert a value outside the target's range. Converting NaN to an integer always fails
/// with kDamaged.
enum class OutOfRange {
  kError,  // fails with kDamaged
  kClamp,  // the nearest value in the range
  kWrap,   // the value modulo 2^bits; kDamaged for infinity and if the target is a float type
  // Like numpy. Integers wrap. Floats converted to integers wrap if they are below 2^31 in
  // magnitude. Larger floats fail with kDamaged, because numpy's result is unspecified and even
  // depends on the length of the array. A number outside the range of a float type becomes
  // infinity.
  kNumpy,
};

struct Conversion {
  Rounding rounding = Rounding::kTowardsZero;
  OutOfRange out_of_range = OutOfRange::kNumpy;
};

/// Returns the type in which numpy computes with elements of types `a` and `b`, which must be
/// integer or float types.
[[nodiscard]] DataType PromotedType(const DataType& a, const DataType& b);

/// Converts elements of one number type to another. `elements` must have a whole number of
/// elements.
[[nodiscard]] Result<Bytes> ConvertElements(Bytes elements, const DataType& from,
                                            const DataType& to, Conversion conversion);

}  // namespace zarrfs
