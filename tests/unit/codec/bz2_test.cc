#include "tests/unit/codec/compressor_samples.h"

namespace zarrfs::bz2_test {
namespace {

// numcodecs.BZ2(5).encode(d), where d is Squares()
constexpr std::string_view kSample =
    "425a6835314159265359c62c12ec000000ffbf6620c4288520200040302240040110284a4000210003040040022820"
    "200022141a0006468323d43d4da86191a69a646132304d01854411fd2f739d2896d898b17966b66ad6f1b72e7bc88b"
    "c3f4d209011100fc5dc914e1424318b04bb0";

TEST(Bz2Codec, ReadsWhatNumcodecsWrote) {
  for (const char* name : {"bz2", "numcodecs.bz2"}) {
    EXPECT_EQ(Codec(name)->Decode(Hex(kSample), 80), Squares());
  }
}

TEST(Bz2Codec, GoesThereAndBack) {
  for (const char* level : {"1", "9"}) {
    ExpectThereAndBack(*Codec("bz2", fmt::format(R"({{"level": {}}})", level)));
  }
}

TEST(Bz2Codec, StreamsAreConcatenatedAndJunkAfterThemIsIgnored) {
  const Bytes two = Joined(Hex(kSample), Hex(kSample));
  EXPECT_EQ(Codec("bz2")->Decode(two, 160), Joined(Squares(), Squares()));
  EXPECT_FALSE(Codec("bz2")->Decode(two, 159));
  EXPECT_EQ(Codec("bz2")->Decode(Joined(Hex(kSample), Text("junk")), 80), Squares());
}

TEST(Bz2Codec, StreamWithoutAnEndIsDamageAlsoAfterAnother) {
  Bytes part = Hex(kSample);
  part.resize(80);
  EXPECT_EQ(MessageOf(Codec("bz2")->Decode(part, 80)), "bz2: 80 bytes end inside a stream");
  EXPECT_FALSE(Codec("bz2")->Decode(Joined(Hex(kSample), part), 200));
}

TEST(Bz2Codec, BombStopsAtTheLimit) {
  const Bytes bomb = *Codec("bz2")->Encode(Bytes(10'000'000));
  ASSERT_LT(bomb.size(), 10'000u);
  EXPECT_EQ(MessageOf(Codec("bz2")->Decode(bomb, 1024)),
            "bz2: expected at most 1024 bytes, found more");
}

TEST(Bz2Codec, DamagedInputIsContained) {
  ExpectTruncationFails(*Codec("bz2"), Hex(kSample), 80);
  ExpectBitFlipsAreContained(*Codec("bz2"), Hex(kSample), 80);
}

TEST(Bz2Codec, WhatOnlyEncodersUseRefusesNoChunk) {
  ExpectThereAndBack(*Codec("bz2", R"({"level": 0})"));
}

}  // namespace
}  // namespace zarrfs::bz2_test
