#include "tests/unit/codec/codec_testing.h"

namespace zarrfs::checksum_test {
namespace {

constexpr std::string_view kDigits = "123456789";

struct Sample {
  const char* name;
  const char* configuration;
  const char* encoded;
};

// numcodecs: CRC32(), …; encode(np.frombuffer(b"123456789", "u1"))
constexpr Sample kSamples[] = {
    {"numcodecs.crc32", "{}", "2639f4cb 313233343536373839"},
    {"numcodecs.crc32", R"({"location": "end"})", "313233343536373839 2639f4cb"},
    {"numcodecs.adler32", "{}", "de011e09 313233343536373839"},
    {"numcodecs.adler32", R"({"location": "end"})", "313233343536373839 de011e09"},
    {"numcodecs.crc32c", "{}", "313233343536373839 839206e3"},
    {"numcodecs.crc32c", R"({"location": "start"})", "839206e3 313233343536373839"},
    {"numcodecs.crc32c", R"({"location": null})", "313233343536373839 839206e3"},
    {"numcodecs.fletcher32", "{}", "313233343536373839 d509df09"},
    {"numcodecs.jenkins_lookup3", "{}", "313233343536373839 969a5d84"},
    {"numcodecs.jenkins_lookup3", R"({"initval": 42, "prefix": null})",
     "313233343536373839 4a2995f8"},
};

TEST(ChecksumCodec, ChecksumStandsWhereNumcodecsPutsIt) {
  for (const Sample& sample : kSamples) {
    const auto codec = Codec(sample.name, sample.configuration);
    EXPECT_EQ(codec->Decode(Hex(sample.encoded), 9), Text(kDigits)) << sample.name;
    EXPECT_EQ(codec->Encode(Text(kDigits)), Hex(sample.encoded)) << sample.name;
    EXPECT_EQ(codec->EncodedSize(9), 13u);
  }
}

TEST(ChecksumCodec, EveryTruncationAndEveryWrongBitIsSeen) {
  for (const Sample& sample : kSamples) {
    const auto codec = Codec(sample.name, sample.configuration);
    const Bytes encoded = Hex(sample.encoded);
    ExpectTruncationFails(*codec, encoded, 9);
    for (size_t bit = 0; bit < encoded.size() * 8; ++bit) {
      Bytes flipped = encoded;
      flipped[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
      const auto decoded = codec->Decode(flipped, 9);
      ASSERT_FALSE(decoded) << sample.name << " bit " << bit;
      EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
    }
  }
}

TEST(ChecksumCodec, MismatchNamesBoth) {
  EXPECT_EQ(MessageOf(Codec("numcodecs.adler32")->Decode(Hex("de011e08 313233343536373839"), 9)),
            "numcodecs.adler32 checksum 0x081e01de, computed 0x091e01de");
}

TEST(ChecksumCodec, MoreThanTheLimitIsDamage) {
  for (const Sample& sample : kSamples) {
    EXPECT_FALSE(Codec(sample.name, sample.configuration)->Decode(Hex(sample.encoded), 8));
  }
}

Bytes Checksum(const char* name, const Bytes& bytes) {
  const Bytes encoded = *Codec(name)->Encode(bytes);
  return {encoded.end() - 4, encoded.end()};
}

Bytes CountedTo(size_t last) {
  Bytes bytes;
  for (size_t i = 1; i <= last; ++i) bytes.push_back(static_cast<std::byte>(i));
  return bytes;
}

// numcodecs: Fletcher32().encode(np.arange(1, k + 1, dtype="u1"))[-4:], and with JenkinsLookup3
TEST(ChecksumCodec, EveryLengthOfARestIsHashedAsByNumcodecs) {
  const std::pair<size_t, const char*> fletcher[] = {{1, "00010001"},  {2, "02010201"},
                                                     {11, "1e24645b"}, {12, "2a24705b"},
                                                     {13, "2a319a8c"}, {24, "9c90da8c"}};
  for (const auto& [last, expected] : fletcher) {
    EXPECT_EQ(Checksum("numcodecs.fletcher32", CountedTo(last)), Hex(expected)) << last;
  }
  const std::pair<size_t, const char*> jenkins[] = {
      {1, "3b88ec04"},  {2, "cf707621"},  {11, "8cf69418"}, {12, "13b87124"},
      {13, "e5a0d7e7"}, {24, "768118a1"}, {25, "a4b96f7d"}};
  for (const auto& [last, expected] : jenkins) {
    EXPECT_EQ(Checksum("numcodecs.jenkins_lookup3", CountedTo(last)), Hex(expected)) << last;
  }
}

// Checksums by numcodecs of np.arange(2000, dtype="<u2") and np.full(3001, 255, "u1").
TEST(ChecksumCodec, SumsDoNotOverflow) {
  Bytes counting(4000);
  for (size_t i = 0; i < 2000; ++i) {
    counting[2 * i] = static_cast<std::byte>(i);
    counting[2 * i + 1] = static_cast<std::byte>(i >> 8);
  }
  const Bytes ones(3001, std::byte{255});
  EXPECT_EQ(Checksum("numcodecs.fletcher32", counting), Hex("80b65b81"));
  EXPECT_EQ(Checksum("numcodecs.fletcher32", ones), Hex("00ff00ff"));
  EXPECT_EQ(Checksum("numcodecs.jenkins_lookup3", counting), Hex("41fdec63"));
  EXPECT_EQ(Checksum("numcodecs.jenkins_lookup3", ones), Hex("5e43fa48"));
}

TEST(ChecksumCodec, NoBytesHaveAChecksumToo) {
  for (const Sample& sample : kSamples) {
    const auto codec = Codec(sample.name, sample.configuration);
    EXPECT_EQ(codec->Decode(*codec->Encode({}), 0), Bytes()) << sample.name;
  }
}

TEST(ChecksumCodec, WrongConfigurationIsRefused) {
  EXPECT_EQ(RefusedConfiguration("numcodecs.crc32", R"({"location": "middle"})").message,
            "codec 'numcodecs.crc32': location is \"middle\", expected \"start\" or \"end\"");
  EXPECT_EQ(RefusedConfiguration("numcodecs.fletcher32", R"({"location": "start"})").code,
            ErrorCode::kDamaged);
  EXPECT_EQ(RefusedConfiguration("numcodecs.jenkins_lookup3", R"({"initval": -1})").code,
            ErrorCode::kDamaged);
  EXPECT_EQ(RefusedConfiguration("numcodecs.jenkins_lookup3", R"({"prefix": "a"})").code,
            ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace zarrfs::checksum_test
