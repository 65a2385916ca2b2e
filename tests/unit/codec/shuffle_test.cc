#include "tests/unit/codec/compressor_samples.h"

namespace zarrfs::shuffle_test {
namespace {

TEST(ShuffleCodec, ReadsWhatNumcodecsWrote) {
  // numcodecs.Shuffle(4).encode(np.arange(12, dtype="u1"))
  for (const char* name : {"shuffle", "numcodecs.shuffle"}) {
    const auto codec = Codec(name, R"({"elementsize": 4})");
    EXPECT_EQ(codec->Decode(Hex("00040801050902060a03070b"), 12), Hex("000102030405060708090a0b"));
    EXPECT_EQ(codec->Encode(Hex("000102030405060708090a0b")), Hex("00040801050902060a03070b"));
    EXPECT_EQ(codec->EncodedSize(12), 12u);
  }
}

TEST(ShuffleCodec, ElementsOfAByteStayAsTheyAre) {
  for (const char* size : {"0", "1"}) {
    const auto codec = Codec("shuffle", fmt::format(R"({{"elementsize": {}}})", size));
    EXPECT_EQ(codec->Decode(Text("zarrfs"), 6), Text("zarrfs"));
  }
}

TEST(ShuffleCodec, PartOfAnElementIsDamage) {
  const auto decoded = Codec("shuffle", R"({"elementsize": 4})")->Decode(Bytes(10), 12);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(MessageOf(decoded), "shuffle: expected at most 12 bytes in elements of 4, found 10");
  EXPECT_FALSE(Codec("shuffle", R"({"elementsize": 4})")->Decode(Bytes(16), 12));
}

TEST(ShuffleCodec, ElementSizeMustBeStated) {
  EXPECT_EQ(RefusedConfiguration("shuffle", "{}").message,
            "codec 'shuffle': elementsize is absent, expected an integer");
  EXPECT_EQ(RefusedConfiguration("shuffle", R"({"elementsize": -4})").code, ErrorCode::kDamaged);
}

}  // namespace
}  // namespace zarrfs::shuffle_test
