#include "zarrcore/base/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace zarrfs::printable_test {
namespace {

TEST(PrintableTest, ALogLineHasNoLineEndsAndNoControlCharacters) {
  EXPECT_EQ(OneLine("first\nsecond\x1b[2J\n \n"), "first; second?[2J");
  EXPECT_EQ(OneLine("größe"), "größe");
  EXPECT_EQ(OneLine(""), "");
}

TEST(PrintableTest, ATerminalSeesControlCharactersAsNumbers) {
  EXPECT_EQ(Visible("a\x1b[2J\nb\x7f"), "a\\x1b[2J\\x0ab\\x7f");
  EXPECT_EQ(Visible("größe"), "größe");
}

TEST(PrintableTest, AnExcerptIsShortAndAscii) {
  EXPECT_EQ(AsciiExcerpt("blosc2"), "blosc2");
  EXPECT_EQ(AsciiExcerpt("\xff\n~"), "??~");
  EXPECT_EQ(AsciiExcerpt(std::string(100, 'x')), std::string(100, 'x'));
  EXPECT_EQ(AsciiExcerpt(std::string(1 << 20, 'x')), std::string(100, 'x') + "...");
}

}  // namespace
}  // namespace zarrfs::printable_test
