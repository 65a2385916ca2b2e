#include "tests/unit/codec/array_codec_testing.h"

namespace zarrfs::scale_offset_test {
namespace {

struct Sample {
  const char* type;
  const char* configuration;
  const char* stored_type;
  const char* stored;
  const char* decoded;
};

// c = numcodecs.FixedScaleOffset(…); s = c.encode(…); c.decode(s), with numpy 2
constexpr Sample kFixed[] = {
    // [1000, 1000.1, 1001.26, 1010]
    {"float64", R"({"scale": 10, "offset": 1000, "dtype": "<f8", "astype": "|u1"})", "uint8",
     "00010d64", "0000000000408f40cdcccccccc408f4066666666664a8f400000000000908f40"},
    {"float32", R"({"scale": 0.1, "offset": 0.5, "dtype": "<f4", "astype": "<i2"})", "int16",
     "6400640064006500", "00207a4400207a4400207a4400a07c44"},
    // [10, 20, -7]
    {"int32", R"({"scale": 3, "offset": 10, "dtype": "<i4", "astype": "<i2"})", "int16",
     "00001e00cdff", "0a00000014000000f9ffffff"},
    // [1.5, 2.5, 1000]: calculated in float32
    {"float32", R"({"scale": 7, "offset": 0.3, "dtype": "<f4", "astype": "<f4"})", "float32",
     "000000410000704100b0da45", "8cafb83fc5571c40ea007a44"},
    // [1.5, 2.5, 100]: calculated in float16
    {"float16", R"({"scale": 7, "offset": 0.3, "dtype": "<f2", "astype": "<f2"})", "float16",
     "0048804b7461", "c53de3404056"},
    {"uint8", R"({"scale": 10, "offset": 0, "dtype": "|u1"})", "uint8", "001e32", "000305"},
    // [1, 2, 3]
    {"float64", R"({"scale": 3, "offset": 0.1, "dtype": "<f8", "astype": "<f4"})", "float32",
     "000040400000c04000001041", "000000a09999f13f000000c0cccc0040000000c0cccc0840"},
};

TEST(FixedScaleOffsetCodec, ReadsWhatNumcodecsWrote) {
  for (const Sample& sample : kFixed) {
    const OneAxisCodec codec("numcodecs.fixedscaleoffset", sample.configuration, sample.type);
    ASSERT_TRUE(codec.made()) << codec.error().message;
    EXPECT_EQ(codec.StoredType(), sample.stored_type);
    EXPECT_EQ(codec.Decode(sample.stored), Hex(sample.decoded)) << sample.configuration;
    EXPECT_EQ(codec.Encode("").error().code, ErrorCode::kUnsupported);
  }
}

TEST(FixedScaleOffsetCodec, WrongConfigurationIsRefused) {
  const auto refused = [](std::string_view configuration, const std::string& type) {
    return OneAxisCodec("numcodecs.fixedscaleoffset", configuration, type).error();
  };
  EXPECT_EQ(refused(R"({"scale": 10, "dtype": "<f8"})", "float64").message,
            "codec 'numcodecs.fixedscaleoffset': offset is absent, expected a number");
  EXPECT_EQ(refused(R"({"scale": "10", "offset": 0, "dtype": "<f8"})", "float64").code,
            ErrorCode::kDamaged);
  EXPECT_EQ(refused(R"({"scale": 10, "offset": 0, "dtype": "<f4"})", "float64").code,
            ErrorCode::kDamaged);
  EXPECT_EQ(refused(R"({"scale": 10, "offset": 0, "dtype": "<c8"})", "complex64").code,
            ErrorCode::kUnsupported);
}

TEST(FixedScaleOffsetCodec, ScaleOfZeroIsDamageWhereNothingHoldsTheQuotient) {
  const char* configuration = R"({"scale": 0, "offset": 0, "astype": "|u1"})";
  EXPECT_EQ(OneAxisCodec("numcodecs.fixedscaleoffset", configuration, "float32").Decode("01"),
            Hex("0000807f"));
  EXPECT_EQ(
      OneAxisCodec("numcodecs.fixedscaleoffset", configuration, "int32").Decode("01").error().code,
      ErrorCode::kDamaged);
}

TEST(ScaleOffsetCodec, CalculatesInTheDataTypeOfTheArray) {
  // np.float32([8, 15]) / np.float32(7) + np.float32(0.3), and likewise with np.float16
  EXPECT_EQ(OneAxisCodec("scale_offset", R"({"scale": 7, "offset": 0.3})", "float32")
                .Decode("000000410000704100b0da45"),
            Hex("8cafb83fc5571c40ea007a44"));
  EXPECT_EQ(OneAxisCodec("scale_offset", R"({"scale": 7, "offset": 0.3})", "float16")
                .Decode("0048804b7461"),
            Hex("c53de3404056"));
  EXPECT_EQ(OneAxisCodec("scale_offset", "{}", "int16").Decode("0100ffff"), Hex("0100ffff"));
}

TEST(ScaleOffsetCodec, QuotientsOfIntegersAreRoundedDownAndSumsWrap) {
  // np.array([7, -7, 6], "i1") // 2 + 1
  EXPECT_EQ(OneAxisCodec("scale_offset", R"({"scale": 2, "offset": 1})", "int8").Decode("07f906"),
            Hex("04fd04"));
  EXPECT_EQ(OneAxisCodec("scale_offset", R"({"scale": -2, "offset": 0})", "int8").Decode("07f906"),
            Hex("fc03fd"));
  EXPECT_EQ(OneAxisCodec("scale_offset", R"({"scale": 2, "offset": 200})", "uint8").Decode("ff01"),
            Hex("47c8"));
  for (const auto& [type, least] :
       {std::pair{"int8", "80"}, {"int32", "00000080"}, {"int64", "0000000000000080"}}) {
    EXPECT_EQ(OneAxisCodec("scale_offset", R"({"scale": -1})", type).Decode(least), Hex(least));
  }
}

TEST(ScaleOffsetCodec, WrongConfigurationIsRefused) {
  const auto refused = [](std::string_view configuration, const std::string& type) {
    return OneAxisCodec("scale_offset", configuration, type).error();
  };
  EXPECT_EQ(refused(R"({"scale": 0})", "int8").message,
            "codec 'scale_offset': scale is 0, expected another integer");
  EXPECT_EQ(refused(R"({"offset": 200})", "int8").code, ErrorCode::kDamaged);
  EXPECT_EQ(refused("{}", "bool").code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused("{}", "complex64").code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace zarrfs::scale_offset_test
