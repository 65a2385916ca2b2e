#include "zarrcore/codec/zfpy.h"

#include <gtest/gtest.h>

#include "tests/unit/codec/codec_testing.h"

namespace zarrfs {
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
      EXPECT_EQ(*decoded, *Decode(whole)) << size << " bytes: only padding is missing";
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

}  // namespace
}  // namespace zarrfs
