#include "zarrcore/view/netcdf_header.h"

#include <gtest/gtest.h>

namespace zarrfs::netcdf_header_test {
namespace {

using std::string_literals::operator""s;

NetcdfHeader Header() {
  NetcdfHeader header;
  header.dimensions = {{"x", 3}};
  header.attributes = {{"t", NcType::kChar, "ab"}};
  header.variables = {{"v", {0}, {}, NcType::kShort, 6, 0x1000}};
  return header;
}

TEST(NetcdfHeader, Cdf2IsAsTheFormatHasIt) {
  EXPECT_EQ(Header().Encode(2),
            "CDF\2\0\0\0\0"
            "\0\0\0\x0a\0\0\0\1\0\0\0\1x\0\0\0\0\0\0\3"
            "\0\0\0\x0c\0\0\0\1\0\0\0\1t\0\0\0\0\0\0\2\0\0\0\2ab\0\0"
            "\0\0\0\x0b\0\0\0\1\0\0\0\1v\0\0\0\0\0\0\1\0\0\0\0"
            "\0\0\0\0\0\0\0\0"
            "\0\0\0\3\0\0\0\x08\0\0\0\0\0\0\x10\0"s);
}

TEST(NetcdfHeader, Cdf5CountsWith64Bits) {
  const std::string header = Header().Encode(5);
  EXPECT_EQ(header.substr(0, 12), "CDF\5\0\0\0\0\0\0\0\0"s);
  EXPECT_EQ(header.substr(header.size() - 20), "\0\0\0\3\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\x10\0"s);
}

TEST(NetcdfHeader, IsAsLongWhereverVariablesBegin) {
  NetcdfHeader header = Header();
  const size_t size = header.Encode(2).size();
  header.variables[0].begin = uint64_t{1} << 40;
  EXPECT_EQ(header.Encode(2).size(), size);
}

TEST(NetcdfHeader, SizeThatCdf2CannotStateIsStatedAsTheLargest) {
  NetcdfHeader header = Header();
  header.variables[0].size = uint64_t{5} << 30;
  const std::string text = header.Encode(2);
  EXPECT_EQ(text.substr(text.size() - 12, 4), "\xff\xff\xff\xff");
}

}  // namespace
}  // namespace zarrfs::netcdf_header_test
