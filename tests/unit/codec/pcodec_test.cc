#include <gtest/gtest.h>

#include "tests/unit/codec/codec_testing.h"
#include "tests/unit/support/memory.h"

namespace zarrfs::pcodec_test {
namespace {

Result<Bytes> Decode(BytesView encoded, const ChunkSpec& chunk) {
  const auto codec = MakePcodecCodec(CodecSpec{"numcodecs.pcodec"}, chunk);
  if (!codec) return Fail(codec);
  return (*codec)->Decode(encoded, chunk);
}

struct Written {
  std::string type;
  std::string_view elements;
  std::string_view old_file;  // PCodec().encode() of numcodecs 0.16.6 with pcodec 0.3.6; or empty
  std::string_view file;      // like old_file, with pcodec 1.1.0
};

const Written kWritten[] = {
    {"uint8", "00 03 06 09 0c 0f", "", "70636f210300820104010a05000000100000203096fc00"},
    {"int8", "00 03 06 09 0c 0f", "", "70636f210300820104010b05000000100000243096fc00"},
    {"uint16", "0000 0300 0600 0900 0c00 0f00", "70636f21028201030705000010010180014000000000",
     "70636f21030082010401070500000010000000203096fc00"},
    {"uint32", "00000000 03000000 06000000 09000000 0c000000 0f000000",
     "70636f2102820103010500000010000000000020003096fc00",
     "70636f21030082010401010500000010000000000020003096fc00"},
    {"uint64",
     "0000000000000000 0300000000000000 0600000000000000 0900000000000000 0c00000000000000"
     "0f00000000000000",
     "70636f210282010302050000001000000000000000000020003096fc00",
     "70636f2103008201040102050000001000000000000000000020003096fc00"},
    {"int16", "f9ff fcff ffff 0200 0500 0800", "70636f21028201030805000010010180014000f97f00",
     "70636f2103008201040108050000001000c8ff233096fc00"},
    {"int32", "f9ffffff fcffffff ffffffff 02000000 05000000 08000000",
     "70636f210282010303050000001000c8ffffff23003096fc00",
     "70636f2103008201040103050000001000c8ffffff23003096fc00"},
    {"int64",
     "f9ffffffffffffff fcffffffffffffff ffffffffffffffff 0200000000000000 0500000000000000"
     "0800000000000000",
     "70636f210282010304050000001000c8ffffffffffffff23003096fc00",
     "70636f2103008201040104050000001000c8ffffffffffffff23003096fc00"},
    {"float16", "00bc 00b4 0038 003d 0040 8041",
     "70636f210282010309050000001000f81f7a00000044003d201fc00fec0300",
     "70636f2103008201040109050000001000f81f7a00000044003d201fc00fec0300"},
    {"float32", "000080bf 000080be 0000003f 0000a03f 00000040 00003040",
     "70636f210282010305050000102102000100600031020000fb01ffff7f40a40000800600800300800100000000",
     "70636f2103008201040105050000001000f8ffff03fa0000000000000080400000a03f0000e41f0000f80f0080fd"
     "0300"},
    {"float64",
     "000000000000f0bf 000000000000d0bf 000000000000e03f 000000000000f43f 0000000000000040"
     "0000000000000640",
     "70636f210282010306050000102102000100000000000c006b040000000000c0fe0300ffffffffffff0f40a40000"
     "00000000d00000000000000e0000000000c00000000000000000",
     "70636f2103008201040106050000003300c8ffffffffffff031000ffffffffffff2f400002000000000080ffda00"
     "950d1a000000000000000000000000a0000000000000400000000000001300"},
};

// 64 int64 with six distinct values, encoded by standalone.simple_compress() of pcodec 1.1.0 with a
// dictionary (ModeSpec.try_dict()) and with lookback (DeltaSpec.try_lookback()).
constexpr std::string_view kDictionary =
    "70636f21030006100401043f00006400000000000000000100804d00000000000080351cdcdf0200008000000000"
    "02000080000000000000048005000000000000800001000000008001ec044c8998852da0a90b878002a934184242"
    "13962a43c40600";
constexpr std::string_view kLookback =
    "70636f21030006100401043f0000200540002000000080b00100500000000000c0ff07d001000000000000000103"
    "12000000000000200a0000000000000480802c9300003063603a16e3c0c01725aa82a3942230e7611d83306a3182"
    "4ee22ee437a5abd2c1ecffff7f40fb06f737c0e0f808483f000000000000";
const ChunkSpec kSixtyFour{CoreType("int64"), {64}};

// numpy.arange(6, dtype='int16'), encoded with equal_pages_up_to=4.
constexpr std::string_view kTwoPages =
    "70636f21028201030802000000100000001424080200000010001800142400";

TEST(Pcodec, EveryTypeIsTheSameAgain) {
  for (const auto& [type, elements, old_file, file] : kWritten) {
    const ChunkSpec chunk{CoreType(type), {2, 3}};
    for (const std::string_view written : {old_file, file}) {
      if (written.empty()) continue;
      const auto decoded = Decode(Hex(written), chunk);
      ASSERT_TRUE(decoded) << type << ": " << decoded.error().message;
      EXPECT_EQ(*decoded, Hex(elements)) << type;
    }
  }
}

TEST(Pcodec, DatesAreInt64) {
  const Written& written = kWritten[7];
  const ChunkSpec chunk{Type("numpy.datetime64", DataKind::kDatetime, 8), {6}};
  EXPECT_EQ(Decode(Hex(written.file), chunk), Hex(written.elements));
}

TEST(Pcodec, PagesFollowEachOther) {
  EXPECT_EQ(Decode(Hex(kTwoPages), {CoreType("int16"), {6}}), Hex("0000 0100 0200 0300 0400 0500"));
}

TEST(Pcodec, DictionariesAndLookbackAreKnown) {
  const auto decoded = Decode(Hex(kDictionary), kSixtyFour);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(Bytes(decoded->begin(), decoded->begin() + 32),
            Hex("0000000000000400 0500000000000000 0000000002000000 351cdcdf02000000"));
  EXPECT_EQ(*Decode(Hex(kLookback), kSixtyFour), *decoded);
}

TEST(Pcodec, BytesBehindTheEndAreIgnored) {
  Bytes longer = Hex(kDictionary);
  longer.insert(longer.end(), 100, std::byte{0xff});
  EXPECT_EQ(*Decode(longer, kSixtyFour), *Decode(Hex(kDictionary), kSixtyFour));
}

TEST(Pcodec, OtherElementsThanTheChunkHasAreDamage) {
  const Bytes file = Hex(kWritten[6].file);  // int32 elements
  const auto refusal = [&](const char* type, uint64_t count) {
    const auto decoded = Decode(file, {CoreType(type), {count}});
    EXPECT_TRUE(!decoded && decoded.error().code == ErrorCode::kDamaged) << type << count;
    return MessageOf(decoded);
  };
  EXPECT_EQ(refusal("int32", 7),
            "codec 'numcodecs.pcodec': 27 bytes do not decode to int32: 6 numbers, expected 7");
  EXPECT_EQ(refusal("int32", 5),
            "codec 'numcodecs.pcodec': 27 bytes do not decode to int32: "
            "6 numbers or more, expected 5");
  EXPECT_NE(refusal("float32", 6).find("number type"), std::string::npos);
  (void)refusal("int32", 0);
}

TEST(Pcodec, EveryShorterFileIsDamage) {
  const auto check = [](std::string_view digits, const ChunkSpec& chunk) {
    const Bytes file = Hex(digits);
    for (size_t size = 0; size < file.size(); ++size) {
      const Bytes part(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
      const auto decoded = Decode(part, chunk);
      ASSERT_FALSE(decoded) << size << " of " << file.size() << " bytes";
      EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
    }
  };
  for (const Written& written : kWritten) {
    check(written.old_file, {CoreType(written.type), {6}});
    check(written.file, {CoreType(written.type), {6}});
  }
  check(kDictionary, kSixtyFour);
  check(kLookback, kSixtyFour);
}

TEST(Pcodec, WrongBitsAreContained) {
  const auto check = [](std::string_view digits, const ChunkSpec& chunk) {
    const Bytes file = Hex(digits);
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
      Bytes flipped = file;
      flipped[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
      const auto decoded = Decode(flipped, chunk);
      if (decoded) {
        EXPECT_EQ(decoded->size(), chunk.size()) << "bit " << bit;
      } else {
        EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged) << "bit " << bit;
      }
    }
  };
  for (const Written& written : kWritten) {
    check(written.old_file, {CoreType(written.type), {6}});
    check(written.file, {CoreType(written.type), {6}});
  }
  check(kDictionary, kSixtyFour);
  check(kLookback, kSixtyFour);
}

// Three files that claim to have 2^40 - 1 numbers, a dictionary of 2^25 - 1 numbers, and a window
// of 2^24 numbers.
TEST(Pcodec, MemoryIsThatOfTheElementsWhateverAFileClaims) {
  const Bytes hint = Hex("70636f21 03 00 e7ffffffff3f 0401 03050000001000c8ffffff23003096fc00");
  Bytes dictionary = Hex(kDictionary);
  ASSERT_EQ(dictionary[14], std::byte{0x64});  // four bits: dictionary mode; 25 bits: six values
  dictionary[14] = std::byte{0xf4};
  dictionary[15] = dictionary[16] = std::byte{0xff};
  dictionary[17] = std::byte{0x1f};
  Bytes window = Hex(kLookback);
  ASSERT_EQ(window[15], std::byte{5});  // five bits: log2 of the window size, minus 1
  window[15] = std::byte{23};
  const auto peak = PeakBytesOf([&] {
    const auto hinted = Decode(hint, {CoreType("int32"), {6}});
    EXPECT_EQ(hinted, Hex(kWritten[6].elements)) << MessageOf(hinted);
    EXPECT_EQ(MessageOf(Decode(dictionary, kSixtyFour)),
              "codec 'numcodecs.pcodec': 99 bytes do not decode to int64: "
              "a dictionary of 33554431 numbers in 89 bytes");
    EXPECT_EQ(MessageOf(Decode(window, kSixtyFour)),
              "codec 'numcodecs.pcodec': 122 bytes do not decode to int64: "
              "a window of 2^24 numbers, expected 2^15 at most");
  });
  EXPECT_LT(peak.value_or(0), 8U << 20);
}

TEST(Pcodec, TypesThatPcodecDoesNotHaveAreRefused) {
  for (const char* const type : {"bool", "complex64", "r16"}) {
    const auto decoded = Decode({}, {CoreType(type), {4}});
    EXPECT_EQ(MessageOf(decoded),
              fmt::format("codec 'numcodecs.pcodec': pcodec has no data type '{}'", type));
    EXPECT_EQ(decoded.error().code, ErrorCode::kUnsupported);
  }
}

// The lengths are those of 1,000 random numbers encoded by PCodec(equal_pages_up_to=1).
TEST(Pcodec, ManyShortPagesAreNotTooLong) {
  for (const auto& [type, longest] : {std::pair{"uint16", 10'009U}, std::pair{"int64", 16'009U}}) {
    const ChunkSpec chunk{CoreType(type), {1000}};
    const auto pipeline = Pipeline::Make(std::vector{CodecSpec{"numcodecs.pcodec"}}, chunk);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    EXPECT_GE(pipeline->max_encoded_size(), longest);
    EXPECT_LT(pipeline->max_encoded_size(), 8 * longest);
  }
}

TEST(Pcodec, NothingIsEncoded) {
  const ChunkSpec chunk{CoreType("int16"), {4}};
  const auto codec = MakePcodecCodec(CodecSpec{"pcodec"}, chunk);
  ASSERT_TRUE(codec);
  const auto encoded = (*codec)->Encode(Bytes(8), chunk);
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace zarrfs::pcodec_test
