#include "tests/unit/codec/compressor_samples.h"

namespace zarrfs::lz4_test {
namespace {

// numcodecs.LZ4().encode(d), where d is Squares()
constexpr std::string_view kSample =
    "50000000 "
    "f0410000010004000900100019002400310040005100640079009000a900c400e1000500260049006e0095"
    "00be00e9001b004a007b00ae00e3001f0058009300d000140055009800dd0029007200bd000f00";
// numcodecs.LZ4().encode(np.zeros(300, 'u1'))
constexpr std::string_view kZeros = "2c010000 1f000100ff14500000000000";

TEST(Lz4Codec, ReadsWhatNumcodecsWrote) {
  for (const char* name : {"lz4", "numcodecs.lz4"}) {
    EXPECT_EQ(Codec(name)->Decode(Hex(kSample), 80), Squares());
    EXPECT_EQ(Codec(name)->Decode(Hex(kZeros), 300), Bytes(300));
  }
}

TEST(Lz4Codec, GoesThereAndBack) {
  ExpectThereAndBack(*Codec("lz4"));
  ExpectThereAndBack(*Codec("lz4", R"({"acceleration": 100})"));
  ExpectThereAndBack(*Codec("lz4", R"({"acceleration": -1})"));
}

TEST(Lz4Codec, BlockMustHoldExactlyTheStatedSize) {
  for (const char* size : {"00000000", "2b010000", "2d010000"}) {
    EXPECT_FALSE(Codec("lz4")->Decode(Joined(Hex(size), Hex("1f000100ff14500000000000")), 1000));
  }
  EXPECT_FALSE(Codec("lz4")->Decode(Joined(Hex(kZeros), Text("junk")), 1000));
}

TEST(Lz4Codec, StatedSizeBeyondWhatABlockCanHoldIsNotAllocated) {
  for (const char* size : {"0000007e", "ffffffff", "00000080"}) {
    const auto decoded =
        Codec("lz4")->Decode(Joined(Hex(size), Hex("1f000100ff14500000000000")), UINT64_MAX);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(MessageOf(decoded).find("lz4: states "), 0u);
  }
}

TEST(Lz4Codec, DamagedInputIsContained) {
  for (const std::string_view sample : {kSample, kZeros}) {
    ExpectTruncationFails(*Codec("lz4"), Hex(sample), 300);
    ExpectBitFlipsAreContained(*Codec("lz4"), Hex(sample), 300);
  }
}

}  // namespace
}  // namespace zarrfs::lz4_test
