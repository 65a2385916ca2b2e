#include "zarrcore/base/byte_order.h"

#include <algorithm>

namespace zarrfs {
namespace {

template <typename T>
void SwapAll(std::span<std::byte> items) {
  for (size_t at = 0; at + sizeof(T) <= items.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, items.data() + at, sizeof value);
    value = ByteSwap(value);
    std::memcpy(items.data() + at, &value, sizeof value);
  }
}

}  // namespace

void ReverseEachItem(std::span<std::byte> items, size_t item_size) {
  switch (item_size) {
    case 0:
    case 1:
      return;
    case 2:
      return SwapAll<uint16_t>(items);
    case 4:
      return SwapAll<uint32_t>(items);
    case 8:
      return SwapAll<uint64_t>(items);
    default:
      for (size_t at = 0; at + item_size <= items.size(); at += item_size) {
        std::reverse(items.begin() + static_cast<ptrdiff_t>(at),
                     items.begin() + static_cast<ptrdiff_t>(at + item_size));
      }
  }
}

}  // namespace zarrfs
