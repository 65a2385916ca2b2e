#include "tests/unit/codec/array_codec_testing.h"
#include "zarrcore/base/byte_order.h"

namespace zarrfs::delta_test {
namespace {

struct Sample {
  const char* type;
  const char* configuration;
  const char* stored_type;
  const char* elements;
  const char* stored;
  const char* decoded;  // as by numcodecs; differs from `elements` if differences were rounded
};

// c = numcodecs.Delta(dtype=…, astype=…); s = c.encode(elements); c.decode(s)
constexpr Sample kSamples[] = {
    {"int16", R"({"dtype": "<i2"})", "int16", "6400660065005a00", "64000200fffff5ff",
     "6400660065005a00"},
    {"int16", R"({"dtype": "<i2", "astype": "|i1"})", "int8", "6400660065005a00", "6402fff5",
     "6400660065005a00"},
    {"uint8", R"({"dtype": "|u1", "astype": null})", "uint8", "fa03ff00", "fa09fc01", "fa03ff00"},
    {"uint64", R"({"dtype": "<u8"})", "uint64", "00000000000000800100000000000000ffffffffffffffff",
     "00000000000000800100000000000080feffffffffffffff",
     "00000000000000800100000000000000ffffffffffffffff"},
    {"float32", R"({"dtype": "float32"})", "float32", "cdcccc3d9a99993e20bcbe4c0000a0c0",
     "cdcccc3dcecc4c3e20bcbe4c21bcbecc", "cdcccc3d9a99993e20bcbe4c000000c1"},
    {"float16", R"({"dtype": "<f2"})", "float16", "662ed063003e00c5", "662ed063cde380c6",
     "662ed063003e00c5"},
    {"float32", R"({"dtype": "<f4", "astype": "<f8"})", "float64", "0000c03f00001040000040c0",
     "000000000000f83f000000000000e83f00000000000015c0", "0000c03f00001040000040c0"},
    {"float64", R"({"dtype": "<f8", "astype": "<f4"})", "float32",
     "9a9999999999f13f9a999999999905406666666666660ac0", "cdcc8c3fcdcccc3f0000c0c0",
     "000000a09999f13f000000a0999905400000006066660ac0"},
    {"int32", R"({"dtype": "<i4", "astype": "<f4"})", "float32", "050000000600000004000000",
     "0000a0400000803f000000c0", "050000000600000004000000"},
};

TEST(DeltaCodec, ReadsAndWritesWhatNumcodecsDoes) {
  for (const Sample& sample : kSamples) {
    const OneAxisCodec codec("numcodecs.delta", sample.configuration, sample.type);
    ASSERT_TRUE(codec.made()) << codec.error().message;
    EXPECT_EQ(codec.StoredType(), sample.stored_type);
    EXPECT_EQ(codec.Decode(sample.stored), Hex(sample.decoded)) << sample.configuration;
    EXPECT_EQ(codec.Encode(sample.elements), Hex(sample.stored)) << sample.configuration;
  }
}

// numcodecs.Delta(dtype="<f4", astype="<f8").decode(np.array([0.1, 0.2, 0.3, 1e-9, 5.7]))
TEST(DeltaCodec, SumsAreMadeInTheWiderType) {
  const OneAxisCodec codec("numcodecs.delta", R"({"dtype": "<f4", "astype": "<f8"})", "float32");
  EXPECT_EQ(codec.Decode("9a9999999999b93f9a9999999999c93f333333333333d33f95d626e80b2e113e"
                         "cdcccccccccc1640"),
            Hex("cdcccc3d9a99993e9a99193f9a99193f9a99c940"));  // float32 sums end in 9999c940
}

TEST(DeltaCodec, ByteOrderInTheDataTypeMeansNothing) {
  // The array-to-bytes codec has already converted the elements to little-endian.
  const OneAxisCodec codec("numcodecs.delta", R"({"dtype": ">i2"})", "int16");
  EXPECT_EQ(codec.Decode("64000200fffff5ff"), Hex("6400660065005a00"));
}

TEST(DeltaCodec, ManyElementsAreSummedFromTheFirst) {
  constexpr size_t kElements = 200'000;  // several times the number that is summed at once
  const ChunkSpec chunk{TypeNamed("int32"), {kElements}};
  const auto codec = *std::get<ArrayToArrayFactory>(*FindCodec("numcodecs.delta"))(
      CodecSpec{"numcodecs.delta", Configuration(R"({"dtype": "<i4", "astype": "|u1"})")}, chunk);
  const auto decoded = codec->Decode(Bytes(kElements, std::byte{1}), chunk);
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_EQ(decoded->size(), kElements * sizeof(int32_t));
  for (size_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(LoadLittle<uint32_t>(decoded->data() + i * sizeof(int32_t)), i + 1);
  }
}

TEST(DeltaCodec, OtherSizesAreDamage) {
  const auto codec = *std::get<ArrayToArrayFactory>(*FindCodec("numcodecs.delta"))(
      CodecSpec{"numcodecs.delta", Configuration(R"({"dtype": "<i2"})")},
      {TypeNamed("int16"), {4}});
  for (const size_t size : {0, 7, 9}) {
    const auto decoded = codec->Decode(Bytes(size), {TypeNamed("int16"), {4}});
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
}

TEST(DeltaCodec, WhatCannotBeSummedIsRefused) {
  const auto refused = [](std::string_view configuration, const std::string& type) {
    return OneAxisCodec("numcodecs.delta", configuration, type).error();
  };
  EXPECT_EQ(refused(R"({"dtype": "<i4"})", "int16").message,
            "codec 'numcodecs.delta': dtype is \"<i4\", expected int16");
  EXPECT_EQ(refused(R"({"dtype": 4})", "int16").code, ErrorCode::kDamaged);
  EXPECT_EQ(refused(R"({"dtype": "<M8[ns]"})", "int64").message,
            "codec 'numcodecs.delta': dtype '<M8[ns]' is not known");
  EXPECT_EQ(refused(R"({"dtype": "|b1"})", "bool").code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused(R"({"dtype": "<c8"})", "complex64").code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused(R"({"dtype": "<i2", "astype": "|O"})", "int16").code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace zarrfs::delta_test
