#include "zarrcore/view/assembled_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/codec/widen.h"

namespace zarrfs {
namespace {

constexpr uint32_t kMaxCodePoint = 0x10ffff;

bool IsCodePoint(uint32_t c) { return c <= kMaxCodePoint && (c < 0xd800 || c > 0xdfff); }

uint64_t SizeInUtf8(uint32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

void AppendUtf8(uint32_t c, std::string& text) {
  const uint64_t size = SizeInUtf8(c);
  constexpr uint8_t kFirst[] = {0x00, 0x00, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kFirst[size] | c >> 6 * (size - 1));
  for (uint64_t rest = size - 1; rest-- > 0;)
    text += static_cast<char>(0x80 | (c >> 6 * rest & 0x3f));
}

// Returns the code points of a fixed-length UTF-32 element, without trailing zeros.
std::vector<uint32_t> CodePoints(BytesView element) {
  std::vector<uint32_t> points;
  for (size_t at = 0; at < element.size(); at += 4)
    points.push_back(LoadLittle<uint32_t>(&element[at]));
  while (!points.empty() && points.back() == 0) points.pop_back();
  return points;
}

Result<Bytes> AsUtf8(BytesView elements, size_t item_size, size_t bytes) {
  Bytes out(elements.size() / item_size * bytes);
  for (size_t at = 0, to = 0; at < elements.size(); at += item_size, to += bytes) {
    std::string text;
    for (const uint32_t c : CodePoints(elements.subspan(at, item_size))) {
      if (!IsCodePoint(c)) return Fail(ErrorCode::kDamaged, "{:#x} is not a Unicode character", c);
      AppendUtf8(c, text);
    }
    if (text.size() > bytes) {
      return Fail(ErrorCode::kDamaged, "string of {} bytes, expected at most {}", text.size(),
                  bytes);
    }
    std::ranges::copy(std::as_bytes(std::span(text)), out.begin() + static_cast<ptrdiff_t>(to));
  }
  return out;
}

template <typename T>
bool AllFitInt32(BytesView elements) {
  for (size_t at = 0; at < elements.size(); at += sizeof(T)) {
    if (!std::in_range<int32_t>(LoadElement<T>(&elements[at]))) return false;
  }
  return true;
}

}  // namespace

Result<Bytes> InForm(Bytes elements, const DataType& from, const ElementForm& form) {
  DataType type = from;
  if (form.is_wide) {
    elements = Widen(std::move(elements), from);
    type = WideTypeOf(from).value_or(from);
  }
  if (form.is_converted && type.kind == DataKind::kFixedLengthUtf32) {
    auto text = AsUtf8(elements, type.item_size, form.item_size());
    if (!text) return text;
    elements = std::move(*text);
  } else if (form.is_converted) {
    auto converted =
        ConvertElements(std::move(elements), type, form.type, {.out_of_range = OutOfRange::kError});
    if (!converted) return converted;
    elements = std::move(*converted);
  }
  if (form.is_big_endian) ReverseByteOrder(elements, form.type);
  return elements;
}

std::optional<ElementRange> RangeOf(BytesView elements, const DataType& type) {
  if (type.kind == DataKind::kFixedLengthUtf32) {
    ElementRange range{false, 1};
    for (size_t at = 0; at < elements.size(); at += type.item_size) {
      uint64_t bytes = 0;
      for (const uint32_t c : CodePoints(elements.subspan(at, type.item_size)))
        bytes += SizeInUtf8(c);
      range.text_bytes = std::max(range.text_bytes, bytes);
    }
    return range;
  }
  if (type.is_date()) return ElementRange{AllFitInt32<int64_t>(elements), 0};
  if (type.kind == DataKind::kInt && type.item_size == 8) {
    return ElementRange{AllFitInt32<int64_t>(elements), 0};
  }
  if (type.kind == DataKind::kUint && type.item_size >= 4) {
    return ElementRange{
        type.item_size == 4 ? AllFitInt32<uint32_t>(elements) : AllFitInt32<uint64_t>(elements), 0};
  }
  return std::nullopt;
}

}  // namespace zarrfs
