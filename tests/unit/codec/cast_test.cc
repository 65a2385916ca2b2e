#include "tests/unit/codec/array_codec_testing.h"

namespace zarrfs::cast_test {
namespace {

// c = numcodecs.AsType(encode_dtype="<f4", decode_dtype="<f8"); c.encode(np.array([1.1, 2, 3e38]))
TEST(AstypeCodec, ReadsWhatNumcodecsWrote) {
  const OneAxisCodec codec("numcodecs.astype", R"({"encode_dtype": "<f4", "decode_dtype": "<f8"})",
                           "float64");
  EXPECT_EQ(codec.StoredType(), "float32");
  EXPECT_EQ(codec.Decode("cdcc8c3f00000040e6b1617f"),
            Hex("000000a09999f13f0000000000000040000000c03c36ec47"));
  EXPECT_EQ(codec.Encode("000000a09999f13f0000000000000040000000c03c36ec47"),
            Hex("cdcc8c3f00000040e6b1617f"));
}

TEST(AstypeCodec, DecodedTypeIsThatOfTheArray) {
  EXPECT_EQ(OneAxisCodec("numcodecs.astype", R"({"encode_dtype": "int8"})", "int16").Decode("ff7f"),
            Hex("ffff7f00"));
  EXPECT_EQ(OneAxisCodec("numcodecs.astype", R"({"encode_dtype": "<f4", "decode_dtype": "<f8"})",
                         "float32")
                .error()
                .message,
            "codec 'numcodecs.astype': decode_dtype is \"<f8\", expected float32");
  EXPECT_EQ(OneAxisCodec("numcodecs.astype", "{}", "float32").error().message,
            "codec 'numcodecs.astype': encode_dtype is absent, expected a data type");
  EXPECT_EQ(OneAxisCodec("numcodecs.astype", R"({"encode_dtype": "<c8"})", "float32").error().code,
            ErrorCode::kUnsupported);
}

// c = numcodecs.Quantize(digits=1, dtype="<f8", astype="<f4"); c.encode(np.linspace(0, 1, 4))
TEST(QuantizeCodec, DecodingIsTheCastAlone) {
  const OneAxisCodec codec("numcodecs.quantize",
                           R"({"digits": 1, "dtype": "<f8", "astype": "<f4"})", "float64");
  EXPECT_EQ(codec.StoredType(), "float32");
  EXPECT_EQ(codec.Decode("000000000000a03e0000303f0000803f"),
            Hex("0000000000000000000000000000d43f000000000000e63f000000000000f03f"));
  EXPECT_EQ(codec.Encode("0000000000000000").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(
      OneAxisCodec("numcodecs.quantize", R"({"digits": 1, "dtype": "<i4"})", "int32").error().code,
      ErrorCode::kUnsupported);
}

TEST(CastValueCodec, ConvertsByItsRules) {
  const OneAxisCodec codec(
      "cast_value",
      R"({"data_type": "float32", "rounding": "towards-zero", "out_of_range": "clamp"})", "uint8");
  EXPECT_EQ(codec.StoredType(), "float32");
  EXPECT_EQ(codec.Decode("0000c03f 0000c0bf 00009643"), Hex("01 00 ff"));  // 1.5, -1.5, 300
  EXPECT_EQ(codec.Encode("01 ff"), Hex("0000803f 00007f43"));
}

TEST(CastValueCodec, NearestEvenAndErrorAreTheDefaults) {
  const OneAxisCodec codec("cast_value", R"({"data_type": "float32"})", "uint8");
  EXPECT_EQ(codec.Decode("0000c03f 00002040"), Hex("02 02"));  // 1.5, 2.5
  EXPECT_EQ(MessageOf(codec.Decode("00009643")), "element 0 is 300, which uint8 cannot represent");
  EXPECT_EQ(codec.Decode("0000c07f").error().code, ErrorCode::kDamaged);
}

// zarr-python 3.4 packs floats that may be NaN with this configuration.
TEST(CastValueCodec, MappedScalarsAreNotConverted) {
  const OneAxisCodec codec("cast_value", R"({"data_type": "int16",
      "scalar_map": {"encode": [["NaN", 0], ["Infinity", 9]], "decode": [[0, "NaN"], [9, "Infinity"]]}})",
                           "float32");
  EXPECT_EQ(codec.Decode("0000 0100 0900 ffff"), Hex("0000c07f 0000803f 0000807f 000080bf"));
  EXPECT_EQ(codec.Encode("0000c07f 0000803f 0000807f 000080bf"), Hex("0000 0100 0900 ffff"));
  EXPECT_EQ(codec.Encode("010080ff"), Hex("0000")) << "any NaN";
}

TEST(CastValueCodec, OfEqualScalarsTheLastOneCounts) {
  const OneAxisCodec codec(
      "cast_value",
      R"({"data_type": "float32", "scalar_map": {"decode": [["NaN", 1], ["NaN", 2], [0.0, 3]]}})",
      "uint8");
  EXPECT_EQ(codec.Decode("0000c07f 00000080 0000a040"), Hex("02 03 05"));  // NaN, -0, 5
}

TEST(CastValueCodec, WrongConfigurationIsRefused) {
  const auto refused = [](std::string_view configuration, const std::string& type) {
    return OneAxisCodec("cast_value", configuration, type).error();
  };
  EXPECT_EQ(refused("{}", "uint8").code, ErrorCode::kDamaged);
  EXPECT_EQ(refused(R"({"data_type": "float32", "rounding": "up"})", "uint8").code,
            ErrorCode::kDamaged);
  EXPECT_EQ(refused(R"({"data_type": "float32", "scalar_map": {"both": []}})", "uint8").message,
            "codec 'cast_value': scalar_map: both is not known");
  EXPECT_EQ(refused(R"({"data_type": "float32", "scalar_map": 5})", "uint8").code,
            ErrorCode::kDamaged);
  EXPECT_EQ(
      refused(R"({"data_type": "float32", "scalar_map": {"decode": [[0]]}})", "uint8").message,
      "codec 'cast_value': scalar_map.decode: expected a list of pairs, found [[0]]");
  EXPECT_EQ(refused(R"({"data_type": "int8", "scalar_map": {"decode": [["x", 0]]}})", "uint8").code,
            ErrorCode::kDamaged);
  EXPECT_EQ(refused(R"({"data_type": "bool"})", "uint8").code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused(R"({"data_type": "complex64"})", "uint8").code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace zarrfs::cast_test
