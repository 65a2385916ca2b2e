#include <gtest/gtest.h>

#include "tests/unit/codec/codec_testing.h"

namespace zarrfs::zfp_test {
namespace {

// zfpy.compress_numpy(numpy.arange(8, dtype='int32').reshape(2, 4) * 1000 - 3000)
constexpr std::string_view kReversible =
    "7a66700534000010000000881c00804325c0000022154c830100000000000000";

const ChunkSpec kChunk{Type("int32", DataKind::kInt, 4), {2, 4}};

Result<Bytes> Decode(BytesView encoded, const ChunkSpec& chunk = kChunk) {
  const auto codec = MakeZfpyCodec(CodecSpec{"numcodecs.zfpy"}, chunk);
  if (!codec) return Fail(codec);
  return (*codec)->Decode(encoded, chunk);
}

TEST(Zfpy, WhatNumcodecsEncodedWithoutLossIsTheSameAgain) {
  const auto decoded = Decode(Hex(kReversible));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded,
            Hex("48f4ffff 30f8ffff 18fcffff 00000000 e8030000 d0070000 b80b0000 a00f0000"));
}

TEST(Zfpy, AStreamOfSomethingElseIsDamage) {
  EXPECT_EQ(Decode(Hex(kReversible), {kChunk.data_type, {3, 4}}).error().code, ErrorCode::kDamaged);
  EXPECT_EQ(Decode(Hex(kReversible), {Type("float32", DataKind::kFloat, 4), {2, 4}}).error().code,
            ErrorCode::kDamaged);
  EXPECT_EQ(Decode(Hex("00000000 00000000")).error().code, ErrorCode::kDamaged);
  EXPECT_EQ(Decode({}).error().code, ErrorCode::kDamaged);
}

TEST(Zfpy, NoStreamIsReadBeyondItsEnd) {
  const Bytes whole = Hex(kReversible);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto decoded = Decode(BytesView(whole).first(size));  // the sanitizer watches
    if (decoded) {
      EXPECT_EQ(*decoded, *Decode(whole)) << size << " bytes";
    }
  }
  for (size_t i = 0; i < whole.size() * 8; ++i) {
    Bytes changed = whole;
    changed[i / 8] ^= static_cast<std::byte>(1U << i % 8);
    (void)Decode(changed);
  }
}

TEST(Zfpy, TypesThatZfpDoesNotHaveAreRefused) {
  EXPECT_EQ(Decode({}, {Type("uint8", DataKind::kUint, 1), {4}}).error().message,
            "codec 'numcodecs.zfpy': zfp has no data type 'uint8'");
}

// --- without a header
// ------------------------------------------------------------------------------

const ChunkSpec kDoubles{Type("float64", DataKind::kFloat, 8), {3, 4}};
// numpy.arange(12).reshape(3, 4) * 0.25 - 1
constexpr std::string_view kQuarters =
    "000000000000f0bf000000000000e8bf000000000000e0bf000000000000d0bf0000000000000000000000000000d0"
    "3f"
    "000000000000e03f000000000000e83f000000000000f03f000000000000f43f000000000000f83f000000000000fc"
    "3f";

Result<Bytes> DecodeBare(std::string_view stream, std::string_view configuration,
                         const ChunkSpec& chunk) {
  const auto codec = MakeZfpCodec(CodecSpec{"zfp", *ParseJson(configuration, "k")}, chunk);
  if (!codec) return Fail(codec);
  return (*codec)->Decode(Hex(stream), chunk);
}

struct BareCase {
  std::string_view configuration;
  std::string_view stream;  // zfpy.compress_numpy(..., write_header=False)
};

TEST(Zfp, WhatZfpWroteInEachModeIsTheSameAgain) {
  constexpr std::string_view kFixed =
      "0128088c00248200110000000000000000000000000000000000000000000000";
  for (const auto& [configuration, stream] : {
           BareCase{R"({"mode": "reversible"})", "01900820021548000200000000000000"},
           BareCase{R"({"mode": "fixed_accuracy", "tolerance": 0.01})",
                    "0128088c0024820011000000000000000000000000000000"},
           BareCase{R"({"mode": "fixed_rate", "rate": 16})", kFixed},
           BareCase{R"({"mode": "fixed_precision", "precision": 20})", kFixed},
           // What a rate of 16 is for 4 x 4 values.
           BareCase{R"({"mode": "expert", "minbits": 256, "maxbits": 256, "maxprec": 64,
                        "minexp": -1074})",
                    kFixed},
       }) {
    const auto decoded = DecodeBare(stream, configuration, kDoubles);
    ASSERT_TRUE(decoded) << configuration << ": " << decoded.error().message;
    EXPECT_EQ(*decoded, Hex(kQuarters)) << configuration;
  }
}

TEST(Zfp, NarrowIntegersAreTheUpperBitsOfWideOnes) {
  // zfpy.compress_numpy of numpy.array([...], "int32") << 23 (8 bits) or << 15 (16), without loss.
  constexpr std::string_view kReversibleMode = R"({"mode": "reversible"})";
  constexpr std::string_view kBytes = "e83e000024010000";
  constexpr std::string_view kShorts = "f03e0000000000002401000000000000";
  const ChunkSpec int8{Type("int8", DataKind::kInt, 1), {4}};
  const ChunkSpec uint8{Type("uint8", DataKind::kUint, 1), {4}};
  const ChunkSpec int16{Type("int16", DataKind::kInt, 2), {4}};
  EXPECT_EQ(*DecodeBare(kBytes, kReversibleMode, int8), Hex("80 ff 00 7f"));
  EXPECT_EQ(*DecodeBare(kBytes, kReversibleMode, uint8), Hex("00 7f 80 ff"));
  EXPECT_EQ(*DecodeBare(kShorts, kReversibleMode, int16), Hex("0080 ffff 0000 ff7f"));
}

TEST(Zfp, WhatIsNoModeIsRefused) {
  for (const auto& [configuration, message] : {
           std::pair{"{}",
                     "codec 'zfp': mode is absent, expected reversible, fixed_accuracy, "
                     "fixed_rate, fixed_precision or expert"},
           std::pair{R"({"mode": "fixed_rate"})",
                     "codec 'zfp': rate is absent, expected a number from 0 on"},
           std::pair{R"({"mode": "fixed_precision", "precision": 65})",
                     "codec 'zfp': precision is 65, expected an integer from 1 to 64"},
           std::pair{R"({"mode": "expert", "minbits": 9, "maxbits": 8, "maxprec": 1, "minexp": 0})",
                     "codec 'zfp': its bits of a block cannot be"},
       }) {
    EXPECT_EQ(DecodeBare("", configuration, kDoubles).error().message, message);
  }
}

TEST(Zfp, FiveAxesAndUnsignedWordsAreRefused) {
  constexpr std::string_view kMode = R"({"mode": "reversible"})";
  EXPECT_EQ(DecodeBare("", kMode, {kDoubles.data_type, {1, 1, 1, 1, 4}}).error().message,
            "codec 'zfp': zfp has at most 4 axes, the chunk has 5");
  EXPECT_EQ(DecodeBare("", kMode, {Type("uint32", DataKind::kUint, 4), {4}}).error().message,
            "codec 'zfp': zfp has no data type 'uint32'");
}

TEST(Zfp, AStreamThatIsCutOffIsDamageOrTheSame) {
  const Bytes whole = Hex("01900820021548000200000000000000");
  const auto codec = MakeZfpCodec(CodecSpec{"zfp", Json{{"mode", "reversible"}}}, kDoubles);
  ASSERT_TRUE(codec);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto decoded = (*codec)->Decode(BytesView(whole).first(size), kDoubles);
    if (decoded) {
      EXPECT_EQ(*decoded, Hex(kQuarters)) << size << " bytes";
    } else {
      EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
    }
  }
}

}  // namespace
}  // namespace zarrfs::zfp_test
