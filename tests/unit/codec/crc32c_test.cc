#include "zarrcore/base/crc32c.h"

#include "tests/unit/codec/codec_testing.h"

namespace zarrfs::crc32c_test {
namespace {

TEST(Crc32c, GivesThePublishedCheckValues) {
  EXPECT_EQ(Crc32c(Text("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c(Bytes(32)), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32cCodec, ChecksumFollowsTheBytesLittleEndian) {
  const auto codec = Codec("crc32c");
  EXPECT_EQ(codec->Encode(Text("123456789")), Hex("313233343536373839 839206e3"));
  EXPECT_EQ(codec->Decode(Hex("313233343536373839 839206e3"), 9), Text("123456789"));
  EXPECT_EQ(codec->EncodedSize(9), 13u);
}

TEST(Crc32cCodec, WrongChecksumIsDamageThatNamesBoth) {
  const auto decoded = Codec("crc32c")->Decode(Hex("313233343536373839 00000001"), 9);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(MessageOf(decoded), "crc32c checksum 0x01000000, computed 0xe3069283");
}

TEST(Crc32cCodec, EveryTruncationAndEveryWrongBitIsSeen) {
  const auto codec = Codec("crc32c");
  const Bytes encoded = Hex("313233343536373839 839206e3");
  ExpectTruncationFails(*codec, encoded, 9);
  for (size_t bit = 0; bit < encoded.size() * 8; ++bit) {
    Bytes flipped = encoded;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    EXPECT_FALSE(codec->Decode(flipped, 9)) << bit;
  }
}

TEST(Crc32cCodec, MoreThanTheLimitIsDamage) {
  EXPECT_FALSE(Codec("crc32c")->Decode(Hex("313233343536373839 839206e3"), 8));
}

TEST(Crc32cCodec, LocationMayOnlyBeTheEnd) {
  Codec("crc32c", R"({"location": "end"})");
  EXPECT_EQ(RefusedConfiguration("crc32c", R"({"location": "start"})").code, ErrorCode::kDamaged);
}

}  // namespace
}  // namespace zarrfs::crc32c_test
