#include "zarrcore/base/size_text.h"

#include <gtest/gtest.h>

namespace zarrfs::size_text_test {
namespace {

TEST(SizeText, SizesArePowersOf1024) {
  EXPECT_EQ(ParseSize("0"), 0U);
  EXPECT_EQ(ParseSize("4096"), 4096U);
  EXPECT_EQ(ParseSize("512k"), 512U << 10);
  EXPECT_EQ(ParseSize("64M"), 64U << 20);
  EXPECT_EQ(ParseSize("1G"), 1U << 30);
  EXPECT_EQ(ParseSize("16777215T"), 16777215ULL << 40);
  EXPECT_EQ(ParseSize("1GiB"), 1U << 30);
  EXPECT_EQ(ParseSize("64KiB"), 64U << 10);
  EXPECT_EQ(ParseSize("1GB"), 1'000'000'000U);
  EXPECT_EQ(ParseSize("12B"), 12U);
  for (const char* text :
       {"", "M", "-1", "1.5G", "GB", "iB", "1iB", "1GBB", "16777216T", "18446744073709551616"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace zarrfs::size_text_test
