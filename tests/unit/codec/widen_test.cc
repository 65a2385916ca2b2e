#include "zarrcore/codec/widen.h"

#include <gtest/gtest.h>

#include "tests/unit/codec/array_codec_testing.h"

namespace zarrfs::widen_test {
namespace {

TEST(Widen, EachTypeBecomesTheCoreTypeThatHoldsItsValues) {
  const struct {
    std::string type, wide;
    std::string_view stored, elements;
  } cases[] = {
      {"bool", "uint8", "00 01", "00 01"},
      {"int4", "int8", "07 0f 08 f8", "07 ff f8 f8"},  // the upper bits are ignored
      {"int2", "int8", "01 02 03", "01 fe ff"},
      {"uint4", "uint8", "0f f1", "0f 01"},
      {"uint2", "uint8", "03 fe", "03 02"},
      {"float16", "float32", "003c 0080 0100 007c 01fe",
       "0000803f 00000080 00008033 0000807f 0020c0ff"},
      {"bfloat16", "float32", "803f 81ff", "0000803f 000081ff"},
      {"float8_e4m3fn", "float32", "38 80", "0000803f 00000080"},
      {"float8_e5m2", "float32", "7c 3c", "0000807f 0000803f"},
      {"complex_bfloat16", "complex64", "803f 00c0", "0000803f 000000c0"},
      {"complex_float16", "complex64", "003c 00fc", "0000803f 000080ff"},
  };
  for (const auto& [type, wide, stored, elements] : cases) {
    const auto wide_type = WideTypeOf(TypeNamed(type));
    ASSERT_TRUE(wide_type) << type;
    EXPECT_EQ(wide_type->name, wide);
    EXPECT_EQ(Widen(Hex(stored), TypeNamed(type)), Hex(elements)) << type;
  }
}

TEST(Widen, OtherTypesHaveNoWiderOne) {
  for (const char* type : {"int8", "uint64", "float32", "float64", "complex64", "r16", "string"}) {
    EXPECT_FALSE(WideTypeOf(TypeNamed(type))) << type;
  }
}

}  // namespace
}  // namespace zarrfs::widen_test
