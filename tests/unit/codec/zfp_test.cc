#include <gtest/gtest.h>
#include <zfp.h>

#include "tests/unit/codec/codec_testing.h"
#include "tests/unit/support/memory.h"

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
    const auto decoded = Decode(BytesView(whole).first(size));  // a sanitizer detects overreads
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

// An incompressible stream also has a header and padding.
TEST(Zfpy, AStreamMayBeLongerThanItsElements) {
  const auto pipeline = Pipeline::Make(std::vector{CodecSpec{"numcodecs.zfpy"}}, kChunk);
  ASSERT_TRUE(pipeline);
  EXPECT_GT(pipeline->max_encoded_size(), 4 * pipeline->decoded_size());
}

TEST(Zfpy, TypesThatZfpDoesNotHaveAreRefused) {
  EXPECT_EQ(Decode({}, {Type("uint8", DataKind::kUint, 1), {4}}).error().message,
            "codec 'numcodecs.zfpy': zfp has no data type 'uint8'");
}

// --- Streams without a header ---

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
           // Equivalent to a rate of 16 for blocks of 4 x 4 values.
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
  // zfpy.compress_numpy(numpy.array([...], "int32") << n), lossless; n is 23 for 8 bits, 15 for 16.
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
                     "codec 'zfp': rate is absent, expected a number of at least 0"},
           std::pair{R"({"mode": "fixed_precision", "precision": 65})",
                     "codec 'zfp': precision is 65, expected an integer from 1 to 64"},
           std::pair{R"({"mode": "expert", "minbits": 9, "maxbits": 8, "maxprec": 1, "minexp": 0})",
                     "codec 'zfp': libzfp rejects the parameters of its mode"},
       }) {
    EXPECT_EQ(DecodeBare("", configuration, kDoubles).error().message, message);
  }
}

// If a block has fewer bits than its header needs, libzfp reads without a limit.
TEST(Zfp, BlocksOfTooFewBitsAreRefused) {
  const auto refusal = [](unsigned maxbits, int minexp, const DataType& type) {
    const Json mode{{"mode", "expert"},
                    {"minbits", 1},
                    {"maxbits", maxbits},
                    {"maxprec", 64},
                    {"minexp", minexp}};
    const auto codec = MakeZfpCodec(CodecSpec{"zfp", mode}, ChunkSpec{type, {4, 4}});
    return codec ? "" : codec.error().message;
  };
  const DataType float32 = Type("float32", DataKind::kFloat, 4);
  const DataType int64 = Type("int64", DataKind::kInt, 8);
  constexpr int kReversibleExponent = ZFP_MIN_EXP - 1;
  EXPECT_EQ(refusal(11, -10, kDoubles.data_type),
            "codec 'zfp': maxbits is 11, expected at least 12 for float64");
  EXPECT_EQ(refusal(18, kReversibleExponent, kDoubles.data_type),
            "codec 'zfp': maxbits is 18, expected at least 19 for float64");
  EXPECT_EQ(refusal(8, -10, float32), "codec 'zfp': maxbits is 8, expected at least 9 for float32");
  EXPECT_EQ(refusal(5, kReversibleExponent, int64),
            "codec 'zfp': maxbits is 5, expected at least 6 for int64");
  EXPECT_EQ(refusal(12, -10, kDoubles.data_type), "");
  EXPECT_EQ(refusal(9, -10, float32), "");
  EXPECT_EQ(refusal(1, -10, int64), "");
}

// A stream of 64 KiB with a header written by libzfp: 4^10 values in expert mode.
Bytes ExpertStream(unsigned maxbits) {
  Bytes stream(64 << 10, std::byte{0xff});
  bitstream* const bits = stream_open(stream.data(), stream.size());
  zfp_stream* const zfp = zfp_stream_open(bits);
  zfp_field* const field = zfp_field_4d(nullptr, zfp_type_double, 32, 32, 32, 32);
  EXPECT_TRUE(zfp_stream_set_params(zfp, 1, maxbits, 64, -1000));
  zfp_stream_rewind(zfp);
  EXPECT_NE(zfp_write_header(zfp, field, ZFP_HEADER_FULL), 0U);
  stream_flush(bits);
  zfp_field_free(field);
  zfp_stream_close(zfp);
  stream_close(bits);
  return stream;
}

TEST(Zfpy, BlocksOfTooFewBitsAreRefused) {
  const ChunkSpec chunk{kDoubles.data_type, {32, 32, 32, 32}};
  EXPECT_EQ(Decode(ExpertStream(8), chunk).error().message,
            "codec 'numcodecs.zfpy': a block of 8 bits, expected at least 12");
  EXPECT_TRUE(Decode(ExpertStream(12), chunk)) << "the sanitizer watches";
  EXPECT_EQ(Decode(ExpertStream(4000), chunk).error().message,
            "codec 'numcodecs.zfpy': the stream ends early, at 65536 bytes");
}

TEST(Zfp, AShortStreamTakesTheMemoryOfItsElementsAlone) {
  // 65,536 empty blocks of one bit each. Blocks of the maximum length would take 136 MB.
  const ChunkSpec chunk{kDoubles.data_type, {262144, 4, 4, 2}};
  const auto codec = MakeZfpCodec(CodecSpec{"zfp", Json{{"mode", "reversible"}}}, chunk);
  ASSERT_TRUE(codec);
  const Bytes stream(65536 / 8);
  bool decodes = false;
  const auto peak = PeakBytesOf([&] { decodes = (*codec)->Decode(stream, chunk).has_value(); });
  EXPECT_TRUE(decodes);
  EXPECT_LT(peak.value_or(0), 100U << 20) << "64 MiB of elements";
  EXPECT_EQ((*codec)->Decode(BytesView(stream).first(65536 / 8 - 8), chunk).error().message,
            "codec 'zfp': 8184 bytes cannot be 8388608 float64")
      << "fewer bits than blocks";
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
