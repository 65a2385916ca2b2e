#include "tests/unit/codec/compressor_samples.h"

namespace zarrfs::zstd_test {
namespace {

// Output of zstd(1) for a file, for a pipe, whose size is not known, and for a file with --check.
constexpr std::string_view kSized = "28b52ffd 2006 310000 7a6172726673";
constexpr std::string_view kUnsized = "28b52ffd 0058 310000 7a6172726673";
constexpr std::string_view kChecked = "28b52ffd 2406 310000 7a6172726673 d9e0b7f1";
constexpr std::string_view kSkippable = "5a2a4d18 03000000 010203";

Bytes Frames(std::initializer_list<std::string_view> frames) {
  Bytes bytes;
  for (const std::string_view frame : frames) {
    const Bytes part = Hex(frame);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

TEST(ZstdCodec, ReadsWhatOthersWrote) {
  const auto codec = Codec("zstd");
  for (const std::string_view frame : {kSized, kUnsized, kChecked}) {
    EXPECT_EQ(codec->Decode(Hex(frame), 6), Text("zarrfs")) << frame;
    EXPECT_EQ(codec->Decode(Hex(frame), 1000), Text("zarrfs")) << frame;
    EXPECT_FALSE(codec->Decode(Hex(frame), 5)) << frame;
  }
}

TEST(ZstdCodec, FramesAreConcatenatedAndSkippableOnesSkipped) {
  const auto codec = Codec("zstd");
  EXPECT_EQ(codec->Decode(Frames({kSkippable, kSized, kUnsized, kSkippable}), 12),
            Text("zarrfszarrfs"));
  EXPECT_FALSE(codec->Decode(Frames({kSized, kUnsized}), 11));
  EXPECT_FALSE(codec->Decode(Frames({kSized, kSized}), 11));
}

TEST(ZstdCodec, EveryLevelGoesThereAndBackWithAndWithoutChecksum) {
  for (const char* configuration : {"{}", R"({"level": -5})", R"({"level": 0, "checksum": false})",
                                    R"({"level": 22, "checksum": true})"}) {
    const auto codec = Codec("zstd", configuration);
    for (const size_t size : {1, 6, 300'000}) {
      const auto encoded = codec->Encode(Pattern(size));
      ASSERT_TRUE(encoded);
      EXPECT_EQ(codec->Decode(*encoded, size), Pattern(size));
    }
  }
}

TEST(ZstdCodec, EncodedFrameStatesItsSizeAndItsChecksum) {
  EXPECT_EQ(Codec("zstd")->Encode(Text("zarrfs")), Hex(kSized));
  EXPECT_EQ(Codec("zstd", R"({"level": 3, "checksum": true})")->Encode(Text("zarrfs")),
            Hex(kChecked));
}

TEST(ZstdCodec, WrongChecksumIsDamage) {
  EXPECT_FALSE(Codec("zstd")->Decode(Hex("28b52ffd 2406 310000 7a6172726673 d9e0b7f2"), 6));
}

TEST(ZstdCodec, BytesThatStartNoFrameAreDamage) {
  const auto codec = Codec("zstd");
  for (const char* junk : {"00", "28b52ffd", "27b52ffd 2006 310000 7a6172726673"}) {
    const auto decoded = codec->Decode(Frames({kSized, junk}), 100);
    ASSERT_FALSE(decoded) << junk;
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
  EXPECT_EQ(MessageOf(codec->Decode(Frames({kSized, "00"}), 100)),
            "zstd: no frame starts at byte 15 of 16");
}

TEST(ZstdCodec, DamagedInputIsContained) {
  const auto codec = Codec("zstd");
  ExpectTruncationFails(*codec, Hex(kUnsized), 6);
  ExpectTruncationFails(*codec, Hex(kChecked), 6);
  const Bytes encoded = *codec->Encode(Pattern(2000));
  ExpectTruncationFails(*codec, encoded, 2000);
  ExpectBitFlipsAreContained(*codec, encoded, 2000);
}

TEST(ZstdCodec, BombStopsAtTheLimit) {
  // 100 MiB: 800 blocks of one repeated byte, in a frame that does not state its content size.
  Bytes bomb = Hex("28b52ffd 0058");
  for (int block = 0; block < 800; ++block) {
    const Bytes repeated = Hex(block == 799 ? "030010 00" : "020010 00");
    bomb.insert(bomb.end(), repeated.begin(), repeated.end());
  }
  EXPECT_EQ(Codec("zstd")->Decode(bomb, 100 << 20), Bytes(100 << 20));
  EXPECT_FALSE(Codec("zstd")->Decode(bomb, 1024));
  const Bytes sized = *Codec("zstd")->Encode(Bytes(100 << 20));
  EXPECT_EQ(MessageOf(Codec("zstd")->Decode(sized, 1024)),
            "zstd: expected at most 1024 bytes, found more");
}

TEST(ZstdCodec, StatedSizeBeyondTheContentIsDamage) {
  // Two frames with six bytes. One states 2^64 - 2 bytes, the other 0x7fffffff bytes.
  EXPECT_FALSE(
      Codec("zstd")->Decode(Hex("28b52ffd e0 feffffffffffffff 310000 7a6172726673"), UINT64_MAX));
  EXPECT_FALSE(Codec("zstd")->Decode(Hex("28b52ffd a0 ffffff7f 310000 7a6172726673"), 1u << 31));
}

TEST(ZstdCodec, WhatOnlyEncodersUseRefusesNoChunk) {
  for (const char* odd : {R"({"level": 23})", R"({"level": "3"})", R"({"checksum": 1})"}) {
    ExpectThereAndBack(*Codec("zstd", odd));
  }
}

}  // namespace
}  // namespace zarrfs::zstd_test
