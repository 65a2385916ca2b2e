#include "zarrcore/codec/convert.h"

#include <cmath>
#include <limits>

#include "tests/unit/codec/array_codec_testing.h"

namespace zarrfs::convert_test {
namespace {

struct Sample {
  const char* from_type;
  const char* to_type;
  const char* from;
  const char* to;
};

// numpy: a = np.array(…, from); a.astype(to)
constexpr Sample kNumpySamples[] = {
    // 1.5, 2.5, -1.5, 300, -129, 0.9
    {"float64", "uint8",
     "000000000000f83f0000000000000440000000000000f8bf0000000000c072400000000000206"
     "0c0cdccccccccccec3f",
     "0102ff2c7f00"},
    {"float32", "int16", "0000c03f0000c0bf00b88847000080bf", "0100ffff7011ffff"},
    // 65504, 65519, 65520, 6e-8, 2.9e-8, -0.0, 1/3
    {"float64", "float16",
     "0000000000fcef4000000000e0fdef400000000000feef402b69a4292b1b703eee64c69475235f3e0000000000000"
     "0"
     "80555555555555d53f",
     "ff7bff7b007c0100000000805535"},
    {"int32", "uint8", "010000002c010000ffffffff", "012cff"},
    // 2^53 + 1 and 2^64 - 1, rounded once
    {"uint64", "float32", "0100000000002000ffffffffffffffff", "0000005a0000805f"},
    {"int64", "float64", "01000000000020000100000100000000", "00000000000040430000001000007041"},
    {"float32", "bool", "00000000000000400000003f", "000101"},
    {"float16", "float32", "662e0041ff7b", "00c0cc3d0000204000e07f47"},
    {"float64", "uint64", "000000000000f0bf0000000000001440", "ffffffffffffffff0500000000000000"},
    {"bool", "int32", "0001", "0000000001000000"},
    {"float64", "uint32", "000000000000f0bf", "ffffffff"},
    // NaN and infinities are preserved
    {"float32", "float16", "0000c07f0000c0ff0000807f000080ff", "007e00fe007c00fc"},
    {"float16", "float64", "007e00fe007c00fc",
     "000000000000f87f000000000000f8ff000000000000f07f000000000000f0ff"},
};

TEST(ConvertElements, DoesWhatNumpyDoes) {
  for (const Sample& sample : kNumpySamples) {
    EXPECT_EQ(ConvertElements(Hex(sample.from), TypeNamed(sample.from_type),
                              TypeNamed(sample.to_type), Conversion()),
              Hex(sample.to))
        << sample.from_type << " as " << sample.to_type;
  }
}

Bytes Doubles(std::initializer_list<double> values) {
  Bytes bytes(values.size() * sizeof(double));
  size_t at = 0;
  for (const double value : values) {
    StoreElement(bytes.data() + at, value);
    at += sizeof(double);
  }
  return bytes;
}

Result<Bytes> FromDoubles(std::initializer_list<double> values, const std::string& type,
                          Conversion conversion) {
  return ConvertElements(Doubles(values), TypeNamed("float64"), TypeNamed(type), conversion);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ConvertElements, WhatNumpyDoesNowThisWayNowThatIsDamage) {
  EXPECT_FALSE(FromDoubles({1e10}, "uint32", Conversion()));
  for (const double value : {1e10, -1e20, kInfinity, std::nan("")}) {
    const auto converted = FromDoubles({1, value}, "int32", Conversion());
    ASSERT_FALSE(converted) << value;
    EXPECT_EQ(converted.error().code, ErrorCode::kDamaged);
  }
  EXPECT_EQ(MessageOf(FromDoubles({1, 1e20}, "int64", Conversion())),
            "element 1 is 1e+20, which int64 cannot represent");
}

// numpy: np.promote_types(a, b)
TEST(PromotedType, IsThatOfNumpy) {
  const char* promoted[][3] = {{"int8", "int16", "int16"},        {"uint64", "uint8", "uint64"},
                               {"int8", "uint8", "int16"},        {"int32", "uint16", "int32"},
                               {"uint32", "int64", "int64"},      {"uint64", "int8", "float64"},
                               {"float16", "int8", "float16"},    {"float16", "int16", "float32"},
                               {"float32", "uint16", "float32"},  {"float32", "int32", "float64"},
                               {"float64", "float16", "float64"}, {"float16", "uint64", "float64"}};
  for (const auto& [a, b, expected] : promoted) {
    EXPECT_EQ(PromotedType(TypeNamed(a), TypeNamed(b)).name, expected);
    EXPECT_EQ(PromotedType(TypeNamed(b), TypeNamed(a)).name, expected);
  }
}

TEST(ConvertElements, EachRoundingRounds) {
  const std::pair<Rounding, const char*> roundings[] = {{Rounding::kNearestEven, "0202 fe 03"},
                                                        {Rounding::kTowardsZero, "0102 ff 02"},
                                                        {Rounding::kTowardsPositive, "0203 ff 03"},
                                                        {Rounding::kTowardsNegative, "0102 fe 02"},
                                                        {Rounding::kNearestAway, "0203 fe 03"}};
  for (const auto& [rounding, expected] : roundings) {
    EXPECT_EQ(FromDoubles({1.5, 2.5, -1.5, 2.7}, "int8", {rounding, OutOfRange::kError}),
              Hex(expected));
  }
}

TEST(ConvertElements, ValuesOutOfRangeAreRefusedClampedOrWrapped) {
  const auto rule = [](OutOfRange out_of_range) {
    return Conversion{Rounding::kNearestEven, out_of_range};
  };
  EXPECT_FALSE(FromDoubles({255.5}, "uint8", rule(OutOfRange::kError)));
  EXPECT_EQ(FromDoubles({255.4, -0.5}, "uint8", rule(OutOfRange::kError)), Hex("ff00"));
  EXPECT_EQ(FromDoubles({300, -1, kInfinity, -kInfinity}, "int8", rule(OutOfRange::kClamp)),
            Hex("7fff7f80"));
  EXPECT_EQ(FromDoubles({300, -1, 0x1p80}, "uint8", rule(OutOfRange::kWrap)), Hex("2cff00"));
  EXPECT_FALSE(FromDoubles({kInfinity}, "uint8", rule(OutOfRange::kWrap)));
  for (const OutOfRange any : {OutOfRange::kError, OutOfRange::kClamp, OutOfRange::kWrap}) {
    EXPECT_FALSE(FromDoubles({std::nan("")}, "uint8", rule(any)));
    EXPECT_TRUE(FromDoubles({std::nan(""), kInfinity}, "float32", rule(any)));
  }
  // The limits of 64-bit integers. A double cannot represent the maximum itself.
  EXPECT_EQ(FromDoubles({0x1p63}, "int64", rule(OutOfRange::kClamp)), Hex("ffffffffffffff7f"));
  EXPECT_FALSE(FromDoubles({0x1p63}, "int64", rule(OutOfRange::kError)));
  EXPECT_FALSE(FromDoubles({0x1p64}, "uint64", rule(OutOfRange::kError)));
  EXPECT_EQ(FromDoubles({-0x1p63}, "int64", rule(OutOfRange::kError)), Hex("0000000000000080"));
  // Floats to smaller float types.
  EXPECT_FALSE(FromDoubles({1e39}, "float32", rule(OutOfRange::kError)));
  EXPECT_EQ(FromDoubles({1e39, -1e39}, "float32", rule(OutOfRange::kClamp)),
            Hex("ffff7f7f ffff7fff"));
  EXPECT_EQ(FromDoubles({1e5, -1e5}, "float16", rule(OutOfRange::kClamp)), Hex("ff7b fffb"));
  // Integers to smaller integer types.
  const Bytes wide = Hex("2c01 ffff");  // 300, -1
  const auto narrow = [&](OutOfRange out_of_range) {
    return ConvertElements(wide, TypeNamed("int16"), TypeNamed("uint8"), rule(out_of_range));
  };
  EXPECT_FALSE(narrow(OutOfRange::kError));
  EXPECT_EQ(narrow(OutOfRange::kClamp), Hex("ff00"));
  EXPECT_EQ(narrow(OutOfRange::kWrap), Hex("2cff"));
}

TEST(ConvertElements, SameTypeStaysBitForBit) {
  EXPECT_EQ(ConvertElements(Hex("017c"), TypeNamed("float16"), TypeNamed("float16"), Conversion()),
            Hex("017c"));
}

TEST(Half, EveryOneIsTheSameAfterADouble) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    if (std::isnan(half.ToDouble())) continue;
    ASSERT_EQ(Half::From(half.ToDouble()).bits, bits);
  }
}

}  // namespace
}  // namespace zarrfs::convert_test
