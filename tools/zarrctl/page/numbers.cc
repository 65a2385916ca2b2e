#include "tools/zarrctl/page/numbers.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/metadata/fill_value.h"
#include "zarrcore/metadata/float_format.h"

namespace zarrfs::ctl {
namespace {

template <typename T>
double LoadNumber(const std::byte* element) {
  const T value = LoadElement<T>(element);
  if constexpr (std::is_same_v<T, Half>) {
    return value.ToDouble();
  } else {
    return static_cast<double>(value);
  }
}

double LoadTime(const std::byte* element) {
  const auto value = LoadElement<int64_t>(element);
  return value == std::numeric_limits<int64_t>::min() ? std::nan("") : static_cast<double>(value);
}

}  // namespace

std::optional<ElementNumbers> ElementNumbers::Of(const DataType& type) {
  if (IsNumber(type)) {
    return WithElementType(type, [&]<typename T>(std::type_identity<T>) {
      return ElementNumbers(type, LoadNumber<T>, type.kind == DataKind::kFloat);
    });
  }
  if (type.is_date()) return ElementNumbers(type, LoadTime, false);
  const bool is_float = type.kind == DataKind::kNarrowFloat;
  if (is_float || type.kind == DataKind::kNarrowInt || type.kind == DataKind::kNarrowUint) {
    return ElementNumbers(type, nullptr, is_float);
  }
  return std::nullopt;
}

double ElementNumbers::LoadNarrow(const std::byte* element) const {
  if (const FloatFormat* format = type_->float_format()) {
    return DecodeFloat(
        format->size == 1 ? LoadLittle<uint8_t>(element) : LoadLittle<uint16_t>(element), *format);
  }
  const size_t unused = 8 - type_->integer_bits();
  const auto bits = static_cast<uint8_t>(std::to_integer<unsigned>(*element) << unused);
  if (type_->kind == DataKind::kNarrowUint) return bits >> unused;
  return static_cast<int8_t>(bits) >> unused;
}

bool ElementNumbers::IsLess(const std::byte* a, const std::byte* b) const {
  if (!is_float_ && type_->item_size == 8) {
    if (type_->kind == DataKind::kUint) {
      return LoadElement<uint64_t>(a) < LoadElement<uint64_t>(b);
    }
    return LoadElement<int64_t>(a) < LoadElement<int64_t>(b);
  }
  return (*this)(a) < (*this)(b);
}

std::string ElementNumbers::Text(const std::byte* element) const {
  const Json json = FillValueToV3(FillBytes(element, element + type_->item_size), *type_);
  return json.is_string() ? json.get<std::string>() : json.dump();
}

}  // namespace zarrfs::ctl
