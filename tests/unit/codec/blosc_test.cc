#include "zarrcore/codec/blosc.h"

#include "tests/unit/codec/compressor_samples.h"

namespace zarrfs::blosc_test {
namespace {

// The little-endian uint16 0 to 127, encoded by c-blosc 1.21 with zstd and bitshuffle.
constexpr std::string_view kCounting =
    "02019402 00010000 00010000 43000000 14000000 2b000000"
    "28b52ffd6000 000d010040aaaaccf000ff00ff0a8000f101051c6526ff425c9129ec5d67ae0b74814e19c8";
// "zarrfs", encoded with lz4 and shuffle. It is too short to compress, so it is copied.
constexpr std::string_view kCopied = "02013302 06000000 06000000 16000000 7a6172726673";

Bytes Counting() {
  Bytes bytes(256);
  for (size_t i = 0; i < 128; ++i) bytes[2 * i] = static_cast<std::byte>(i);
  return bytes;
}

// kCopied with the four bytes at `at` replaced.
Bytes Forged(size_t at, std::string_view four_bytes) {
  Bytes frame = Hex(kCopied);
  const Bytes value = Hex(four_bytes);
  std::copy(value.begin(), value.end(), frame.begin() + static_cast<ptrdiff_t>(at));
  return frame;
}

TEST(BloscCodec, ReadsWhatOthersWroteWhateverTheConfigurationSays) {
  const auto codec =
      Codec("blosc", R"({"cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 8})");
  EXPECT_EQ(codec->Decode(Hex(kCounting), 256), Counting());
  EXPECT_EQ(codec->Decode(Hex(kCopied), 6), Text("zarrfs"));
}

TEST(BloscCodec, EveryCompressorAndShuffleGoesThereAndBack) {
  for (const char* cname : {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}) {
    for (const char* shuffle : {"noshuffle", "shuffle", "bitshuffle"}) {
      const auto codec = Codec(
          "blosc", fmt::format(R"({{"cname": "{}", "clevel": 5, "shuffle": "{}", "typesize": 4,
                                    "blocksize": 0}})",
                               cname, shuffle));
      for (const size_t size : {1, 6, 256, 300'001}) {
        const auto encoded = codec->Encode(Pattern(size));
        ASSERT_TRUE(encoded) << MessageOf(encoded);
        EXPECT_EQ(codec->Decode(*encoded, size), Pattern(size)) << cname << " " << shuffle;
      }
    }
  }
}

TEST(BloscCodec, ForcedBlockSizeIsUsed) {
  const auto codec = Codec("blosc", R"({"cname": "zstd", "clevel": 5, "shuffle": "noshuffle",
                                        "typesize": 1, "blocksize": 4096})");
  const auto encoded = codec->Encode(Pattern(100'000));
  ASSERT_TRUE(encoded);
  EXPECT_EQ(Bytes(encoded->begin() + 8, encoded->begin() + 12), Hex("00100000"));
  EXPECT_EQ(codec->Decode(*encoded, 100'000), Pattern(100'000));
}

TEST(BloscCodec, BytesAfterTheFrameAreIgnored) {
  Bytes encoded = Hex(kCounting);
  encoded.resize(encoded.size() + 5);
  EXPECT_EQ(Codec("blosc")->Decode(encoded, 256), Counting());
}

TEST(BloscCodec, LimitIsExact) {
  EXPECT_TRUE(Codec("blosc")->Decode(Hex(kCounting), 256));
  EXPECT_EQ(MessageOf(Codec("blosc")->Decode(Hex(kCounting), 255)),
            "blosc: header states 256 decoded bytes, expected at most 255");
}

TEST(BloscCodec, HostileHeaderIsDamage) {
  const auto codec = Codec("blosc");
  const Bytes forged[] = {
      Forged(0, "02013300"),   // type size 0
      Forged(0, "03013302"),   // an unknown version
      Forged(0, "0201bb02"),   // an unknown flag
      Forged(0, "0201f302"),   // an unknown compressor
      Forged(4, "ffffffff"),   // decoded size -1
      Forged(4, "00000080"),   // decoded size INT32_MIN
      Forged(4, "f0ffff7f"),   // decoded size above the maximum of a frame
      Forged(8, "00000000"),   // block size 0
      Forged(8, "ffffffff"),   // block size -1
      Forged(8, "07000000"),   // block size above the decoded size
      Forged(12, "00000000"),  // encoded size below the size of the header
      Forged(12, "ffffffff"),  // encoded size -1
      Forged(12, "17000000"),  // encoded size above the size of the input
      Forged(12, "15000000"),  // encoded size below header and copied bytes
  };
  for (size_t i = 0; i < std::size(forged); ++i) {
    const auto decoded = codec->Decode(forged[i], UINT64_MAX);
    ASSERT_FALSE(decoded) << i;
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
}

TEST(BloscCodec, BlockOffsetsOutsideTheFrameAreDamage) {
  for (const char* start : {"00000000", "13000000", "43000000", "ffffffff", "00000080"}) {
    Bytes frame = Hex(kCounting);
    const Bytes value = Hex(start);
    std::copy(value.begin(), value.end(), frame.begin() + 16);
    EXPECT_FALSE(Codec("blosc")->Decode(frame, 256)) << start;
  }
}

TEST(BloscCodec, DamagedInputIsContained) {
  const auto codec = Codec("blosc");
  ExpectTruncationFails(*codec, Hex(kCounting), 256);
  ExpectTruncationFails(*codec, Hex(kCopied), 6);
  for (const char* cname : {"blosclz", "lz4", "snappy", "zlib", "zstd"}) {
    for (const char* shuffle : {"noshuffle", "shuffle", "bitshuffle"}) {
      const Bytes encoded =
          *Codec("blosc", fmt::format(R"({{"cname": "{}", "clevel": 5, "shuffle": "{}",
                                           "typesize": 2}})",
                                      cname, shuffle))
               ->Encode(Pattern(700));
      ExpectTruncationFails(*codec, encoded, 700);
      ExpectBitFlipsAreContained(*codec, encoded, 700);
    }
  }
}

TEST(BloscCodec, WhatOnlyEncodersUseRefusesNoChunk) {
  for (const char* odd :
       {R"({"cname": "lzma"})", R"({"clevel": 10})", R"({"shuffle": "sort"})", R"({"shuffle": 3})",
        R"({"shuffle": null})", R"({"typesize": 0})", R"({"typesize": 2.0})",
        R"({"blocksize": -1})", R"({"blocksize": 4294967296})"}) {
    ExpectThereAndBack(*Codec("blosc", odd));
  }
}

TEST(BloscCodec, ParametersThatAreNotThereAreThoseOfTheElements) {
  const BloscParameters none = BloscParametersOf({"blosc"}, 4);
  EXPECT_EQ(none.type_size, 4U);
  EXPECT_EQ(none.compressor, "lz4");
  EXPECT_EQ(BloscParametersOf({"blosc"}, 300).type_size, 1U) << "more than a frame can say";
  const CodecSpec numbers = {"blosc", Json{{"typesize", 0}, {"shuffle", -1}, {"cname", "zstd"}}};
  EXPECT_EQ(BloscParametersOf(numbers, 2).shuffle_name(), "shuffle");
  EXPECT_EQ(BloscParametersOf(numbers, 1).shuffle_name(), "bitshuffle");
  EXPECT_EQ(BloscParametersOf(numbers, 1).compressor, "zstd");
}

}  // namespace
}  // namespace zarrfs::blosc_test
