#include "tests/unit/codec/codec_testing.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs::pipeline_test {
namespace {

using Chain = std::vector<CodecSpec>;

const CodecSpec kLittle = {"bytes", Configuration(R"({"endian": "little"})")};
const CodecSpec kBig = {"bytes", Configuration(R"({"endian": "big"})")};
const CodecSpec kReversed = {"transpose", Configuration(R"({"order": [1, 0]})")};
const CodecSpec kGzip = {"gzip", Configuration(R"({"level": 5})")};
const CodecSpec kZstd = {"zstd", Configuration(R"({"level": 1, "checksum": false})")};
const CodecSpec kBlosc = {"blosc", Configuration(R"({"cname": "lz4", "clevel": 5, "typesize": 2,
                                                      "shuffle": "shuffle", "blocksize": 0})")};
const CodecSpec kCrc32c = {"crc32c"};

ChunkSpec Uint16(std::vector<uint64_t> shape) {
  return {Type("uint16", DataKind::kUint, 2), std::move(shape)};
}

Pipeline Make(const Chain& chain, const ChunkSpec& chunk) {
  auto made = Pipeline::Make(chain, chunk);
  EXPECT_TRUE(made) << made.error().message;
  return made ? std::move(*made) : Pipeline();
}

Error Refused(const Chain& chain, const ChunkSpec& chunk) {
  const auto made = Pipeline::Make(chain, chunk);
  EXPECT_FALSE(made);
  return made ? Error{} : made.error();
}

TEST(Pipeline, WhatNobodyWaitsForIsNotDecodedToItsEnd) {
  const Pipeline pipeline = Make({kLittle, kZstd, kGzip}, Uint16({4}));
  const Bytes encoded = *pipeline.Encode(Bytes(8));
  int asked = 0;
  const AbandonedIf scope([&] { return ++asked > 1; });
  EXPECT_EQ(pipeline.Decode(encoded).error().code, ErrorCode::kWouldBlock);
  EXPECT_EQ(asked, 2) << "before the first codec, and before the second";
}

TEST(Pipeline, DeltaInAnotherByteOrderThanTheBytesIsRefused) {
  const auto make = [](std::string_view delta, std::string_view endian, const char* type = "int32",
                       size_t size = 4) {
    const CodecSpec filter = {"numcodecs.delta", Configuration(delta)};
    const CodecSpec bytes = {"bytes", Json{{"endian", endian}}};
    return Pipeline::Make(std::vector{filter, bytes},
                          ChunkSpec{Type(type, DataKind::kInt, size), {4}});
  };
  EXPECT_TRUE(make(R"({"dtype": "<i4"})", "little"));
  EXPECT_TRUE(make(R"({"dtype": ">i4"})", "big"));
  EXPECT_TRUE(make(R"({"dtype": "i4"})", "little"));
  EXPECT_TRUE(make(R"({"dtype": "<i4", "astype": ">i2"})", "big"));
  EXPECT_TRUE(make(R"({"dtype": "|i1"})", "big", "int8", 1));
  for (const auto& [delta, endian] : {std::pair(R"({"dtype": "<i4"})", "big"),
                                      {R"({"dtype": ">i4"})", "little"},
                                      {R"({"dtype": "<i4", "astype": "<i2"})", "big"}}) {
    const auto refused = make(delta, endian);
    ASSERT_FALSE(refused) << delta;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(refused.error().message.ends_with("the codec 'bytes' has another byte order"));
  }
}

TEST(Pipeline, CodecsAreUndoneFromTheLastToTheFirst) {
  const Pipeline pipeline = Make({kReversed, kBig, kCrc32c}, Uint16({2, 3}));
  const Bytes decoded = Hex("0100 0200 0300  0400 0500 0600");
  const Result<Bytes> encoded = pipeline.Encode(decoded);
  ASSERT_TRUE(encoded);
  EXPECT_EQ(Bytes(encoded->begin(), encoded->end() - 4), Hex("0001 0004 0002 0005 0003 0006"));
  EXPECT_EQ(pipeline.Decode(*encoded), decoded);
}

TEST(Pipeline, TransposesFollowOneAnother) {
  const CodecSpec rotate = {"transpose", Configuration(R"({"order": [1, 2, 0]})")};
  const Pipeline pipeline = Make({rotate, rotate, rotate, kLittle}, Uint16({2, 3, 4}));
  EXPECT_EQ(pipeline.Encode(Pattern(48)), Pattern(48));  // three rotations of three axes
  const Pipeline twice = Make({rotate, rotate, kLittle}, Uint16({2, 3, 4}));
  EXPECT_NE(twice.Encode(Pattern(48)), Pattern(48));
  EXPECT_EQ(twice.Decode(*twice.Encode(Pattern(48))), Pattern(48));
}

TEST(Pipeline, EveryCompressorGoesThereAndBackAlsoInARow) {
  const Chain chains[] = {{kLittle, kGzip},          {kBig, kZstd},
                          {kLittle, kBlosc},         {kLittle, kCrc32c, kZstd},
                          {kLittle, kZstd, kCrc32c}, {kBig, kBlosc, kGzip, kCrc32c, kZstd}};
  for (const Chain& chain : chains) {
    const Pipeline pipeline = Make(chain, Uint16({10, 100}));
    EXPECT_EQ(pipeline.encoded_size(), std::nullopt);
    const Result<Bytes> encoded = pipeline.Encode(Pattern(2000));
    ASSERT_TRUE(encoded);
    EXPECT_EQ(pipeline.Decode(*encoded), Pattern(2000));
  }
}

TEST(Pipeline, SizesAreKnownWhereNothingCompresses) {
  const Pipeline pipeline = Make({kReversed, kLittle, kCrc32c, kCrc32c}, Uint16({3, 5}));
  EXPECT_EQ(pipeline.decoded_size(), 30u);
  EXPECT_EQ(pipeline.encoded_size(), 38u);
  const auto decoded = pipeline.Decode(Bytes(37));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(MessageOf(decoded), "encoded chunk: expected 38 bytes, found 37");
}

TEST(Pipeline, RankZeroIsOneElement) {
  const Pipeline pipeline =
      Make({{"transpose", Configuration(R"({"order": []})")}, kBig, kZstd}, Uint16({}));
  EXPECT_EQ(pipeline.decoded_size(), 2u);
  EXPECT_EQ(pipeline.Decode(*pipeline.Encode(Hex("0102"))), Hex("0102"));
}

TEST(Pipeline, UnknownCodecIsNamed) {
  const Error error = Refused({kLittle, {"lzma2"}}, Uint16({2}));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.message, "codec 'lzma2' is not known");
}

TEST(Pipeline, ChainOfAnotherOrderIsDamage) {
  const Chain wrong[] = {{},
                         {kGzip},
                         {kReversed},
                         {kGzip, kLittle},
                         {kReversed, kZstd, kLittle},
                         {kLittle, kBig},
                         {kLittle, kReversed},
                         {kLittle, kGzip, kReversed}};
  for (const Chain& chain : wrong) {
    EXPECT_EQ(Refused(chain, Uint16({2, 3})).code, ErrorCode::kDamaged);
  }
  EXPECT_EQ(Refused({kGzip, kLittle}, Uint16({2})).message,
            "codec 'gzip' is before the array -> bytes codec");
}

TEST(Pipeline, WrongConfigurationIsRefusedWhenTheChainIsMade) {
  EXPECT_EQ(Refused({kReversed, kLittle}, Uint16({2})).code, ErrorCode::kDamaged);
}

TEST(Pipeline, ContentOfAnotherSizeIsDamage) {
  const Bytes longer = *Make({kLittle, kZstd}, Uint16({5})).Encode(Bytes(10));
  const Bytes shorter = *Make({kLittle, kZstd}, Uint16({3})).Encode(Bytes(6));
  const Pipeline pipeline = Make({kLittle, kZstd}, Uint16({4}));
  for (const Bytes& encoded : {longer, shorter}) {
    const auto decoded = pipeline.Decode(encoded);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
  EXPECT_EQ(MessageOf(pipeline.Decode(shorter)), "encoded chunk decodes to 6 bytes, expected 8");
}

TEST(Pipeline, BombInsideACompressorStopsNearTheChunkSize) {
  const Bytes inner = *Codec("zstd")->Encode(Bytes(100'000'000));
  const Bytes bomb = *Codec("gzip")->Encode(inner);
  EXPECT_FALSE(Make({kLittle, kZstd, kGzip}, Uint16({4})).Decode(bomb));
  const Bytes outer = *Codec("gzip")->Encode(Bytes(10'000'000));
  EXPECT_EQ(MessageOf(Make({kLittle, kZstd, kGzip}, Uint16({4})).Decode(outer)),
            "gzip: expected at most 65545 bytes, found more");
}

TEST(Pipeline, EncodeTakesOnlyAWholeChunk) {
  const auto encoded = Make({kLittle}, Uint16({4})).Encode(Bytes(7));
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, ErrorCode::kInvalidArgument);
}

TEST(Pipeline, OverflowingChunkIsTooLarge) {
  const uint64_t half = uint64_t{1} << 32;
  EXPECT_EQ(Refused({kLittle}, Uint16({half, half})).code, ErrorCode::kTooLarge);
  EXPECT_EQ(Refused({kLittle, kCrc32c}, Uint16({half, half / 2})).code, ErrorCode::kTooLarge);
  EXPECT_EQ(Refused({kReversed, kLittle}, Uint16({half, half})).code, ErrorCode::kTooLarge);
}

TEST(Pipeline, ChunkBeyondTheCapHasASizeButIsNotDecoded) {
  const Pipeline pipeline = Make({kLittle, kZstd}, Uint16({kMaxChunkBytes / 2 + 1}));
  EXPECT_EQ(pipeline.decoded_size(), kMaxChunkBytes + 2);
  const auto decoded = pipeline.Decode(Bytes(10));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kTooLarge);
}

TEST(Pipeline, LargestChunkIsNotAllocatedForAFewWrongBytes) {
  for (const CodecSpec& codec : {kGzip, kZstd, kBlosc}) {
    const Pipeline pipeline = Make({kLittle, codec}, Uint16({kMaxChunkBytes / 2}));
    EXPECT_FALSE(pipeline.Decode(Bytes(10)));
  }
}

TEST(Pipeline, DataTypeAndShapeChangeOnTheWay) {
  // Differences of one byte each, stored as float64.
  const CodecSpec delta = {"numcodecs.delta",
                           Configuration(R"({"dtype": "<u2", "astype": "|i1"})")};
  const CodecSpec widen = {"numcodecs.astype", Configuration(R"({"encode_dtype": "<f8"})")};
  const Pipeline pipeline = Make({kReversed, delta, widen, kBig}, Uint16({2, 2}));
  EXPECT_EQ(pipeline.decoded_size(), 8u);
  EXPECT_EQ(pipeline.encoded_size(), 32u);
  const Bytes decoded = Hex("0100 0200 0300 0400");  // in column-major order: 1, 3, 2, 4
  const Result<Bytes> encoded = pipeline.Encode(decoded);
  ASSERT_TRUE(encoded);
  EXPECT_EQ(*encoded, Hex("3ff0000000000000 4000000000000000 bff0000000000000 4000000000000000"));
  EXPECT_EQ(pipeline.Decode(*encoded), decoded);

  const Pipeline packed =
      Make({{"numcodecs.packbits"}, kLittle, kZstd}, {Type("bool", DataKind::kBool, 1), {3, 5}});
  const Bytes bools = Hex("0100010000 0101010001 0000000001");
  EXPECT_EQ(packed.Decode(*packed.Encode(bools)), bools);
}

TEST(Pipeline, StepLargerThanTheCapIsNotDecoded) {
  const CodecSpec widen = {"numcodecs.astype", Configuration(R"({"encode_dtype": "<f8"})")};
  const Pipeline pipeline = Make({widen, kLittle, kGzip}, Uint16({kMaxChunkBytes / 4}));
  const auto decoded = pipeline.Decode(Bytes(10));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(Refused({widen, kLittle}, Uint16({uint64_t{1} << 61})).code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace zarrfs::pipeline_test
