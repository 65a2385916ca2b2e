#include "zarrcore/base/byte_order.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace zarrfs::byte_order_test {
namespace {

constexpr std::array kBytes = {std::byte{0xff}, std::byte{1}, std::byte{2},
                               std::byte{3},    std::byte{4}, std::byte{5},
                               std::byte{6},    std::byte{7}, std::byte{8}};

TEST(ByteOrderTest, LoadsFromUnalignedBytes) {
  EXPECT_EQ(LoadLittle<uint8_t>(kBytes.data() + 1), 0x01U);
  EXPECT_EQ(LoadLittle<uint16_t>(kBytes.data() + 1), 0x0201U);
  EXPECT_EQ(LoadLittle<uint32_t>(kBytes.data() + 1), 0x04030201U);
  EXPECT_EQ(LoadLittle<uint64_t>(kBytes.data() + 1), 0x0807060504030201ULL);
  EXPECT_EQ(LoadBig<uint16_t>(kBytes.data() + 1), 0x0102U);
  EXPECT_EQ(LoadBig<uint32_t>(kBytes.data() + 1), 0x01020304U);
  EXPECT_EQ(LoadBig<uint64_t>(kBytes.data() + 1), 0x0102030405060708ULL);
}

TEST(ByteOrderTest, StoredIntegerIsLoadedAgain) {
  std::array<std::byte, 9> bytes{};
  StoreLittle<uint64_t>(bytes.data() + 1, 0x0807060504030201ULL);
  EXPECT_EQ(bytes[1], std::byte{1});
  EXPECT_EQ(LoadLittle<uint64_t>(bytes.data() + 1), 0x0807060504030201ULL);
}

std::string Reversed(std::string items, size_t item_size) {
  ReverseEachItem(std::as_writable_bytes(std::span(items)), item_size);
  return items;
}

TEST(ByteOrderTest, ReversesEachItemInPlace) {
  EXPECT_EQ(Reversed("abcd", 1), "abcd");
  EXPECT_EQ(Reversed("abcdef", 2), "badcfe");
  EXPECT_EQ(Reversed("abcdef", 3), "cbafed");
  EXPECT_EQ(Reversed("abcdefgh", 4), "dcbahgfe");
  EXPECT_EQ(Reversed("abcdefgh12345678", 8), "hgfedcba87654321");
  EXPECT_EQ(Reversed("", 8), "");
}

TEST(ByteOrderTest, LeavesAnIncompleteLastItemAlone) {
  EXPECT_EQ(Reversed("abc", 2), "bac");
  EXPECT_EQ(Reversed("abcd", 3), "cbad");
}

}  // namespace
}  // namespace zarrfs::byte_order_test
