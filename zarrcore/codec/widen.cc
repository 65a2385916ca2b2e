#include "zarrcore/codec/widen.h"

#include <bit>

#include "zarrcore/base/byte_order.h"

namespace zarrfs {
namespace {

constexpr int kFloat32Fraction = 23;

uint32_t WidenFloat(uint64_t bits, const FloatFormat& format) {
  const uint64_t fraction = bits & ((uint64_t{1} << format.fraction_bits) - 1);
  const uint64_t exponent =
      bits >> format.fraction_bits & ((uint64_t{1} << format.exponent_bits) - 1);
  const bool is_special = format.codes == FloatFormat::Codes::kIeee &&
                          exponent == (uint64_t{1} << format.exponent_bits) - 1;
  if (!is_special) return std::bit_cast<uint32_t>(static_cast<float>(DecodeFloat(bits, format)));
  const uint64_t sign = bits >> (format.fraction_bits + format.exponent_bits) & 1;
  return static_cast<uint32_t>(sign << 31 | uint64_t{0xff} << kFloat32Fraction |
                               fraction << (kFloat32Fraction - format.fraction_bits));
}

Bytes WidenFloats(BytesView elements, const FloatFormat& format) {
  Bytes wide(elements.size() / format.size * sizeof(uint32_t));
  std::byte* to = wide.data();
  for (size_t at = 0; at < elements.size(); at += format.size, to += sizeof(uint32_t)) {
    const uint64_t bits =
        format.size == 1 ? LoadLittle<uint8_t>(&elements[at]) : LoadLittle<uint16_t>(&elements[at]);
    StoreLittle(to, WidenFloat(bits, format));
  }
  return wide;
}

}  // namespace

std::optional<DataType> WideTypeOf(const DataType& type) {
  switch (type.kind) {
    case DataKind::kBool:
    case DataKind::kNarrowUint:
      return CoreType("uint8");
    case DataKind::kNarrowInt:
      return CoreType("int8");
    case DataKind::kDatetime:
    case DataKind::kTimedelta:
      return CoreType("int64");
    case DataKind::kFloat:
      if (type.item_size != 2) return std::nullopt;
      [[fallthrough]];
    case DataKind::kNarrowFloat:
      return CoreType("float32");
    case DataKind::kNarrowComplex:
      return CoreType("complex64");
    default:
      return std::nullopt;
  }
}

Bytes Widen(Bytes elements, const DataType& type) {
  if (type.kind == DataKind::kNarrowInt || type.kind == DataKind::kNarrowUint) {
    const size_t unused = 8 - type.integer_bits();
    for (std::byte& element : elements) {
      const auto bits = static_cast<uint8_t>(std::to_integer<unsigned>(element) << unused);
      element = type.kind == DataKind::kNarrowUint
                    ? static_cast<std::byte>(bits >> unused)
                    : static_cast<std::byte>(static_cast<int8_t>(bits) >> unused);
    }
    return elements;
  }
  if (const FloatFormat* format = type.float_format()) return WidenFloats(elements, *format);
  return elements;
}

}  // namespace zarrfs
