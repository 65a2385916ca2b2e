#include "tests/unit/codec/compressor_samples.h"

namespace zarrfs::zlib_test {
namespace {

// numcodecs.Zlib(5).encode(d), where d is Squares()
constexpr std::string_view kSample =
    "785e636060646061e0641060906450613064706008644861a86498c0b092e108c34306560635064f863c86a90cfb18"
    "5e32483378315433ac6378cc20cf10c13099e10283084328c30c86bb0c9a0c450c7b19f8190014a20f87";

TEST(ZlibCodec, ReadsWhatNumcodecsWrote) {
  for (const char* name : {"zlib", "numcodecs.zlib"}) {
    EXPECT_EQ(Codec(name)->Decode(Hex(kSample), 80), Squares());
  }
}

TEST(ZlibCodec, GoesThereAndBack) {
  for (const char* level : {"-1", "0", "1", "9"}) {
    ExpectThereAndBack(*Codec("zlib", fmt::format(R"({{"level": {}}})", level)));
  }
}

TEST(ZlibCodec, BytesAfterTheStreamAreIgnored) {
  EXPECT_EQ(Codec("zlib")->Decode(Joined(Hex(kSample), Hex(kSample)), 80), Squares());
}

TEST(ZlibCodec, GzipIsNotZlib) {
  const Bytes gzip = *Codec("gzip")->Encode(Squares());
  EXPECT_EQ(MessageOf(Codec("zlib")->Decode(gzip, 80)).find("zlib: incorrect header check"), 0u);
}

TEST(ZlibCodec, WrongChecksumIsDamage) {
  Bytes wrong = Hex(kSample);
  wrong.back() ^= std::byte{1};
  const auto decoded = Codec("zlib")->Decode(wrong, 80);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
}

TEST(ZlibCodec, DamagedInputIsContained) {
  ExpectTruncationFails(*Codec("zlib"), Hex(kSample), 80);
  ExpectBitFlipsAreContained(*Codec("zlib"), Hex(kSample), 80);
}

TEST(ZlibCodec, WhatOnlyEncodersUseRefusesNoChunk) {
  ExpectThereAndBack(*Codec("numcodecs.zlib", R"({"level": 10})"));
}

}  // namespace
}  // namespace zarrfs::zlib_test
