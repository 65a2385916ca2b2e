#include "tests/unit/codec/compressor_samples.h"

namespace zarrfs::gzip_test {
namespace {

// Python: gzip.compress(b"zarrfs", 5, mtime=0)
constexpr std::string_view kMember = "1f8b0800000000000003 ab4a2c2a4a2b0600 77e9c1d3 06000000";
// kMember with the file name "f" in the header, as gzip(1) writes it.
constexpr std::string_view kNamedMember =
    "1f8b0808000000000003 6600 ab4a2c2a4a2b0600 77e9c1d3 06000000";

Bytes Join(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(GzipCodec, ReadsWhatOthersWrote) {
  const auto codec = Codec("gzip");
  EXPECT_EQ(codec->Decode(Hex(kMember), 6), Text("zarrfs"));
  EXPECT_EQ(codec->Decode(Hex(kNamedMember), 6), Text("zarrfs"));
}

TEST(GzipCodec, MembersAreConcatenated) {
  const Bytes two = Join(Hex(kMember), Hex(kNamedMember));
  EXPECT_EQ(Codec("gzip")->Decode(two, 12), Text("zarrfszarrfs"));
  EXPECT_FALSE(Codec("gzip")->Decode(two, 11));
}

TEST(GzipCodec, EveryLevelGoesThereAndBack) {
  for (const int level : {0, 1, 5, 9}) {
    const auto codec = Codec("gzip", fmt::format(R"({{"level": {}}})", level));
    for (const size_t size : {1, 6, 100'000}) {
      const auto encoded = codec->Encode(Pattern(size));
      ASSERT_TRUE(encoded);
      EXPECT_EQ(codec->Decode(*encoded, size), Pattern(size));
    }
  }
}

TEST(GzipCodec, BytesAfterTheLastMemberAreDamage) {
  for (const char* junk : {"00", "1f8b", "7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a"}) {
    const auto decoded = Codec("gzip")->Decode(Join(Hex(kMember), Hex(junk)), 100);
    ASSERT_FALSE(decoded) << junk;
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
}

TEST(GzipCodec, WrongChecksumIsDamage) {
  const auto decoded =
      Codec("gzip")->Decode(Hex("1f8b0800000000000003 ab4a2c2a4a2b0600 77e9c1d4 06000000"), 6);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(MessageOf(decoded).find("gzip: incorrect data check"), 0u) << MessageOf(decoded);
}

TEST(GzipCodec, ZlibAndRawDeflateAreNotGzip) {
  EXPECT_FALSE(Codec("gzip")->Decode(Hex("789cab4a2c2a4a2b0600091c0298"), 100));
  EXPECT_FALSE(Codec("gzip")->Decode(Hex("ab4a2c2a4a2b0600"), 100));
}

TEST(GzipCodec, DamagedInputIsContained) {
  const auto codec = Codec("gzip");
  const Bytes encoded = *codec->Encode(Pattern(2000));
  ExpectTruncationFails(*codec, encoded, 2000);
  ExpectBitFlipsAreContained(*codec, encoded, 2000);
}

TEST(GzipCodec, LimitIsExact) {
  const auto codec = Codec("gzip");
  EXPECT_TRUE(codec->Decode(Hex(kMember), 6));
  const auto decoded = codec->Decode(Hex(kMember), 5);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(MessageOf(decoded), "gzip: expected at most 5 bytes, found more");
}

TEST(GzipCodec, BombStopsAtTheLimit) {
  const auto codec = Codec("gzip", R"({"level": 1})");
  const Bytes bomb = *codec->Encode(Bytes(100'000'000));
  ASSERT_LT(bomb.size(), 1'000'000u);
  const auto decoded = codec->Decode(bomb, 1024);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
}

TEST(GzipCodec, WhatOnlyEncodersUseRefusesNoChunk) {
  for (const char* odd : {R"({"level": -1})", R"({"level": 10})", R"({"level": "5"})",
                          R"({"level": 1.5})", R"({"level": 18446744073709551615})"}) {
    ExpectThereAndBack(*Codec("gzip", odd));
  }
}

}  // namespace
}  // namespace zarrfs::gzip_test
