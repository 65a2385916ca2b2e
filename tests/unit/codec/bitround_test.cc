#include "tests/unit/codec/array_codec_testing.h"

namespace zarrfs::bitround_test {
namespace {

// numcodecs.BitRound(keepbits=3).encode(np.array([1.1, 2.7, -3.3], "<f4"))
TEST(BitroundCodec, DecodingChangesNothing) {
  for (const char* name : {"bitround", "numcodecs.bitround"}) {
    const OneAxisCodec codec(name, R"({"keepbits": 3})", "float32");
    EXPECT_EQ(codec.StoredType(), "float32");
    EXPECT_EQ(codec.Decode("0000903f00003040000050c0"), Hex("0000903f00003040000050c0"));
    EXPECT_EQ(codec.Encode("0000903f").error().code, ErrorCode::kUnsupported);
  }
}

}  // namespace
}  // namespace zarrfs::bitround_test
