#include "zarrcore/metadata/float_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace zarrfs::float_format_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const FloatFormat& Format(std::string_view name) { return *FindFloatFormat(name); }

double Decoded(std::string_view name, uint64_t bits) { return DecodeFloat(bits, Format(name)); }

std::optional<uint64_t> Encoded(std::string_view name, double value) {
  return EncodeFloat(value, Format(name));
}

TEST(FloatFormat, UnknownNameHasNone) {
  EXPECT_EQ(FindFloatFormat("float8"), nullptr);
  EXPECT_EQ(FindFloatFormat(""), nullptr);
}

// Codes from the specifications of the data types.
TEST(FloatFormat, CodesOfTheirDocuments) {
  const struct {
    std::string_view name;
    uint64_t one, smallest, largest;
    double smallest_value, largest_value;
    std::optional<uint64_t> nan, infinity;
  } formats[] = {
      {"float16", 0x3c00, 1, 0x7bff, 0x1p-24, 65504, 0x7e00, 0x7c00},
      {"bfloat16", 0x3f80, 1, 0x7f7f, 0x1p-133, 0x1.fep127, 0x7fc0, 0x7f80},
      {"float8_e3m4", 0x30, 1, 0x6f, 0x1p-6, 15.5, 0x78, 0x70},
      {"float8_e4m3", 0x38, 1, 0x77, 0x1p-9, 240, 0x7c, 0x78},
      {"float8_e4m3fn", 0x38, 1, 0x7e, 0x1p-9, 448, 0x7f, std::nullopt},
      {"float8_e4m3b11fnuz", 0x58, 1, 0x7f, 0x1p-13, 30, 0x80, std::nullopt},
      {"float8_e4m3fnuz", 0x40, 1, 0x7f, 0x1p-10, 240, 0x80, std::nullopt},
      {"float8_e5m2", 0x3c, 1, 0x7b, 0x1p-16, 57344, 0x7e, 0x7c},
      {"float8_e5m2fnuz", 0x40, 1, 0x7f, 0x1p-17, 57344, 0x80, std::nullopt},
      {"float8_e8m0fnu", 0x7f, 0, 0xfe, 0x1p-127, 0x1p127, 0xff, std::nullopt},
      {"float6_e2m3fn", 0x08, 1, 0x1f, 0.125, 7.5, std::nullopt, std::nullopt},
      {"float6_e3m2fn", 0x0c, 1, 0x1f, 0.0625, 28, std::nullopt, std::nullopt},
      {"float4_e2m1fn", 0x02, 1, 0x07, 0.5, 6, std::nullopt, std::nullopt},
  };
  for (const auto& format : formats) {
    EXPECT_EQ(Encoded(format.name, 1), format.one) << format.name;
    EXPECT_EQ(Decoded(format.name, format.smallest), format.smallest_value) << format.name;
    EXPECT_EQ(Decoded(format.name, format.largest), format.largest_value) << format.name;
    EXPECT_EQ(Encoded(format.name, kNan), format.nan) << format.name;
    EXPECT_EQ(Encoded(format.name, kInfinity), format.infinity) << format.name;
    EXPECT_EQ(Encoded(format.name, 2 * format.largest_value), std::nullopt) << format.name;
  }
}

TEST(FloatFormat, EveryCodeOfANarrowFormatComesBack) {
  for (const char* name :
       {"float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3b11fnuz",
        "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
        "float6_e3m2fn", "float4_e2m1fn"}) {
    const FloatFormat& format = Format(name);
    size_t nans = 0;
    for (uint64_t bits = 0; bits < 0x10000 && IsCode(bits, format); ++bits) {
      const double value = DecodeFloat(bits, format);
      if (std::isnan(value)) {
        ++nans;
      } else {
        ASSERT_EQ(EncodeFloat(value, format), bits) << name << " " << value;
      }
    }
    const bool has_nan = EncodeFloat(kNan, format).has_value();
    EXPECT_EQ(nans > 0, has_nan) << name;
  }
}

TEST(FloatFormat, WideFormatsAreThoseOfTheMachine) {
  for (const double value :
       {0.0, -0.0, 1.0, -0.1, 5e-324, 1.7976931348623157e308, kInfinity, -kInfinity}) {
    EXPECT_EQ(Encoded("float64", value), std::bit_cast<uint64_t>(value)) << value;
    EXPECT_EQ(std::bit_cast<uint64_t>(Decoded("float64", std::bit_cast<uint64_t>(value))),
              std::bit_cast<uint64_t>(value));
  }
  for (const double value :
       {0.1, -1e-45, 1.1754943508222875e-38, 1.17549429e-38, 3.4028234663852886e38, 16777217.0}) {
    const auto single = std::bit_cast<uint32_t>(static_cast<float>(value));
    EXPECT_EQ(Encoded("float32", value), single) << value;
    EXPECT_EQ(Decoded("float32", single), static_cast<double>(static_cast<float>(value)));
  }
}

TEST(FloatFormat, RoundsToNearestTiesToEven) {
  EXPECT_EQ(Encoded("float4_e2m1fn", 2.5), 0x04);  // between 2 and 3
  EXPECT_EQ(Encoded("float4_e2m1fn", 3.5), 0x06);  // between 3 and 4
  EXPECT_EQ(Encoded("float4_e2m1fn", -0.2), 0x08);
  EXPECT_EQ(Encoded("float4_e2m1fn", 6.9), 0x07);
  EXPECT_EQ(Encoded("float4_e2m1fn", 7.0), std::nullopt);
  EXPECT_EQ(Encoded("float8_e8m0fnu", 1.4), 0x7f);
  EXPECT_EQ(Encoded("float8_e8m0fnu", 1.6), 0x80);
}

TEST(FloatFormat, ZeroOfFormatsThatLackOne) {
  EXPECT_EQ(Encoded("float8_e4m3", -0.0), 0x80);
  EXPECT_EQ(Encoded("float8_e4m3fnuz", -0.0), 0x00);  // the code of -0 is NaN
  EXPECT_EQ(Encoded("float8_e8m0fnu", 0.0), 0x00);    // the smallest number
  EXPECT_EQ(Encoded("float8_e8m0fnu", -1.0), std::nullopt);
}

TEST(FloatFormat, BitsAboveTheFormatAreNoCode) {
  EXPECT_TRUE(IsCode(0x3f, Format("float6_e2m3fn")));
  EXPECT_FALSE(IsCode(0x40, Format("float6_e2m3fn")));
  EXPECT_TRUE(IsCode(0xff, Format("float8_e8m0fnu")));
  EXPECT_TRUE(IsCode(~uint64_t{0}, Format("float64")));
}

}  // namespace
}  // namespace zarrfs::float_format_test
