#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <string>

#include "tools/zarrctl/page/colours.h"
#include "tools/zarrctl/page/png.h"

namespace zarrfs::ctl::page_png_test {
namespace {

uint32_t Big32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// The data of each chunk; fails unless each has its checksum.
std::map<std::string, std::string> ChunksOf(const std::string& png) {
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::map<std::string, std::string> chunks;
  for (size_t at = 8; at + 12 <= png.size();) {
    const uint32_t length = Big32(png, at);
    const std::string checked = png.substr(at + 4, 4 + length);
    EXPECT_EQ(Big32(png, at + 8 + length), crc32(0, reinterpret_cast<const Bytef*>(checked.data()),
                                                 static_cast<uInt>(checked.size())));
    chunks[checked.substr(0, 4)] = checked.substr(4);
    at += 12 + length;
  }
  return chunks;
}

std::string Inflated(const std::string& deflated) {
  std::string text(1000, '\0');
  uLongf size = text.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                       reinterpret_cast<const Bytef*>(deflated.data()), deflated.size()),
            Z_OK);
  text.resize(size);
  return text;
}

TEST(Png, HasRowsOfColours) {
  const std::string png =
      EncodePng({.width = 2, .height = 2, .bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  auto chunks = ChunksOf(png);
  EXPECT_EQ(chunks["IHDR"], std::string("\0\0\0\2\0\0\0\2\10\2\0\0\0", 13));
  EXPECT_EQ(Inflated(chunks["IDAT"]), std::string("\0\1\2\3\4\5\6\0\7\10\11\12\13\14", 14));
  EXPECT_FALSE(chunks.contains("PLTE"));
  EXPECT_TRUE(png.ends_with(std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12)));
}

TEST(Png, HasAPaletteWithTransparentEntries) {
  auto chunks = ChunksOf(EncodePng(
      {.width = 3, .height = 1, .palette = {kTransparent, {1, 2, 3}}, .bytes = {0, 1, 0}}));
  EXPECT_EQ(chunks["IHDR"], std::string("\0\0\0\3\0\0\0\1\10\3\0\0\0", 13));
  EXPECT_EQ(chunks["PLTE"], std::string("\0\0\0\1\2\3", 6));
  EXPECT_EQ(chunks["tRNS"], std::string("\0\xff", 2));
  EXPECT_EQ(Inflated(chunks["IDAT"]), std::string("\0\0\1\0", 4));
}

double Luminance(const Colour& colour) {
  return 0.2126 * colour.red + 0.7152 * colour.green + 0.0722 * colour.blue;
}

TEST(Viridis, GrowsBrighterEvenly) {
  EXPECT_EQ(Viridis(0), (Colour{0x44, 0x01, 0x54}));
  EXPECT_EQ(Viridis(1), (Colour{0xfd, 0xe7, 0x25}));
  EXPECT_EQ(Viridis(-1), Viridis(0));
  EXPECT_EQ(Viridis(7), Viridis(1));
  for (int i = 1; i <= 64; ++i) {
    EXPECT_GT(Luminance(Viridis(i / 64.0)), Luminance(Viridis((i - 1) / 64.0))) << i;
  }
}

TEST(NumberPalette, HasItsOwnEntriesFirst) {
  const NumberPalette palette({kTransparent, kDamagedColour});
  ASSERT_EQ(palette.colours().size(), 256U);
  EXPECT_EQ(palette.colours()[1], kDamagedColour);
  EXPECT_EQ(palette.Of(0), 2);
  EXPECT_EQ(palette.Of(1), 255);
  EXPECT_EQ(palette.colours()[palette.Of(1)], Viridis(1));
  EXPECT_EQ(palette.Of(-3), 2);
}

}  // namespace
}  // namespace zarrfs::ctl::page_png_test
