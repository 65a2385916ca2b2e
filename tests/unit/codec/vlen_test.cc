#include "zarrcore/codec/vlen.h"

#include "tests/unit/codec/codec_testing.h"

namespace zarrfs::vlen_test {
namespace {

constexpr auto kText = VlenItems::kText;
constexpr auto kBytes = VlenItems::kBytes;

std::string Told(const Result<void>& result) {
  if (result) return "sound";
  EXPECT_EQ(result.error().code, ErrorCode::kDamaged);
  return result.error().message;
}

// numcodecs.VLenUTF8().encode(["a", "", "grün"])
constexpr std::string_view kThree = "03000000 01000000 61 00000000 05000000 6772c3bc6e";

const DataType kString = Type("string", DataKind::kString, 0);
const DataType kBinary = Type("bytes", DataKind::kBytes, 0);

Result<VlenChain> Chain(std::string_view codecs, const DataType& type = kString,
                        std::vector<uint64_t> shape = {3}) {
  const auto parsed = ParseCodecs(Json::parse(codecs), "array");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return VlenChain::Make(*parsed, ChunkSpec{type, std::move(shape)});
}

TEST(Vlen, WhatNumcodecsWroteIsSound) {
  EXPECT_EQ(Told(CheckVlen(Hex(kThree), 3, kText)), "sound");
  EXPECT_EQ(Told(CheckVlen(Hex(kThree), 3, kBytes)), "sound");
  EXPECT_EQ(Told(CheckVlen(Hex("00000000"), 0, kText)), "sound");
}

TEST(Vlen, NumberOfElementsIsThatOfTheChunk) {
  EXPECT_EQ(Told(CheckVlen(Hex(kThree), 4, kText)), "the chunk states 3 elements, expected 4");
  EXPECT_EQ(Told(CheckVlen(Hex(kThree), (uint64_t{1} << 32) + 3, kText)),
            "the chunk states 3 elements, expected 4294967299");
  EXPECT_EQ(Told(CheckVlen(Hex("ffffffff"), 3, kText)),
            "the chunk states 4294967295 elements, expected 3");
}

TEST(Vlen, EveryShorterChunkIsDamaged) {
  const Bytes whole = Hex(kThree);
  for (size_t size = 0; size < whole.size(); ++size) {
    // A separate copy, so a sanitizer detects reads past its end.
    const Bytes part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_NE(Told(CheckVlen(part, 3, kText)), "sound") << size;
  }
  EXPECT_EQ(Told(CheckVlen(Hex("0300"), 3, kText)),
            "2 bytes are too few for the number of elements");
  EXPECT_EQ(Told(CheckVlen(Hex("02000000 00000000"), 2, kText)),
            "the chunk ends before element 1 of 2");
}

TEST(Vlen, ElementThatReachesBeyondTheChunkIsDamaged) {
  EXPECT_EQ(Told(CheckVlen(Hex("01000000 ffffffff 61"), 1, kBytes)),
            "element 0 of 1 has 4294967295 bytes, but only 1 follow");
}

TEST(Vlen, NothingMayFollowTheLastElement) {
  EXPECT_EQ(Told(CheckVlen(Hex("01000000 01000000 61 00"), 1, kText)),
            "1 bytes follow the last of 1 elements");
}

TEST(Vlen, TextIsUtf8) {
  EXPECT_EQ(Told(CheckVlen(Hex("01000000 02000000 c328"), 1, kText)),
            "element 0 of 1 is not UTF-8");
  EXPECT_EQ(Told(CheckVlen(Hex("01000000 02000000 c328"), 1, kBytes)), "sound");
}

// A chunk with one element, given in hexadecimal digits.
Bytes OneText(std::string_view hex) {
  return Hex(fmt::format("01000000 {:02x}000000 {}", hex.size() / 2, hex));
}

TEST(Vlen, Utf8HasNoOverlongFormNoSurrogateAndAnEnd) {
  for (const char* good : {"", "00", "7f", "c280", "dfbf", "e0a080", "ed9fbf", "ee8080", "efbfbf",
                           "f0908080", "f48fbfbf", "6772c3bc6e"}) {
    EXPECT_EQ(Told(CheckVlen(OneText(good), 1, kText)), "sound") << good;
  }
  for (const char* bad :
       {"80", "bf", "c0af", "c1bf", "c2", "c241", "e09fbf", "eda080", "edbfbf", "e080", "e28241",
        "f08fbfbf", "f4908080", "f5808080", "ff", "f09080", "f0908041", "61c3"}) {
    EXPECT_EQ(Told(CheckVlen(OneText(bad), 1, kText)), "element 0 of 1 is not UTF-8") << bad;
  }
}

TEST(VlenChain, IsCheckedThroughItsCompressors) {
  const auto chain = Chain(R"([{"name": "transpose", "configuration": {"order": [0]}},
                               {"name": "vlen-utf8"}, {"name": "gzip"}, {"name": "crc32c"}])");
  ASSERT_TRUE(chain) << chain.error().message;
  auto encoded = Codec("crc32c")->Encode(*Codec("gzip")->Encode(Hex(kThree)));
  EXPECT_EQ(Told(chain->Check(*encoded)), "sound");
  encoded->back() ^= std::byte{1};
  EXPECT_NE(Told(chain->Check(*encoded)), "sound");
  encoded = Codec("crc32c")->Encode(*Codec("gzip")->Encode(Hex("03000000")));
  EXPECT_EQ(Told(chain->Check(*encoded)), "the chunk ends before element 0 of 3");
}

TEST(VlenChain, EveryNameIsKnown) {
  for (const char* name : {"vlen-utf8", "numcodecs.vlen-utf8"}) {
    EXPECT_TRUE(Chain(fmt::format(R"([{{"name": "{}"}}])", name)));
  }
  for (const char* name : {"vlen-bytes", "numcodecs.vlen-bytes"}) {
    EXPECT_TRUE(Chain(fmt::format(R"([{{"name": "{}"}}])", name), kBinary));
  }
}

TEST(VlenChain, WhatIsNotKnownIsNotChecked) {
  const auto reason = [](const Result<VlenChain>& chain) {
    EXPECT_FALSE(chain);
    EXPECT_EQ(chain.error().code, ErrorCode::kUnsupported);
    return chain.error().message;
  };
  EXPECT_EQ(reason(Chain(R"([{"name": "vlen-utf8"}, {"name": "new"}])")),
            "codec 'new' is not a known bytes -> bytes codec");
  EXPECT_EQ(reason(Chain(R"([{"name": "new"}, {"name": "vlen-utf8"}])")),
            "codec 'new' is not supported before 'vlen-utf8'");
  EXPECT_EQ(reason(Chain(R"([{"name": "vlen-utf8"}])", kBinary)),
            "codec 'vlen-utf8' of elements of type 'bytes' is not known");
}

TEST(VlenChain, SizeOfAChunkIsChecked) {
  const auto chain = Chain(R"([{"name": "vlen-utf8"}])", kString, {uint64_t{1} << 40, 1 << 30});
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().code, ErrorCode::kTooLarge);
}

TEST(Texts, RangeIsInBytesAndCharacters) {
  const auto chain = Chain(R"([{"name": "vlen-utf8"}])");
  const auto range = chain->RangeOfTexts(Hex(kThree));
  ASSERT_TRUE(range);
  EXPECT_EQ(range->bytes, 5U);
  EXPECT_EQ(range->characters, 4U);
  EXPECT_FALSE(range->has_zero);
  EXPECT_TRUE(chain->RangeOfTexts(Hex("03000000 01000000 00 00000000 00000000"))->has_zero);
}

TEST(Texts, AreItemsOfOneSizeWithZerosBehind) {
  const auto chain = Chain(R"([{"name": "vlen-utf8"}])");
  const auto utf8 = chain->DecodeTexts(Hex(kThree), TextItems::kUtf8, 6);
  ASSERT_TRUE(utf8) << utf8.error().message;
  EXPECT_EQ(*utf8, Hex("610000000000 000000000000 6772c3bc6e00"));
  const auto utf32 = chain->DecodeTexts(Hex(kThree), TextItems::kUtf32, 16);
  ASSERT_TRUE(utf32) << utf32.error().message;
  EXPECT_EQ(*utf32, Hex("61000000 00000000 00000000 00000000"
                        "00000000 00000000 00000000 00000000"
                        "67000000 72000000 fc000000 6e000000"));
}

TEST(Texts, OneThatIsLongerThanAnItemIsOfAnotherVersion) {
  const auto chain = Chain(R"([{"name": "vlen-utf8"}])");
  for (const auto& [items, size] : {std::pair(TextItems::kUtf8, 4), {TextItems::kUtf32, 12}}) {
    const auto texts = chain->DecodeTexts(Hex(kThree), items, static_cast<size_t>(size));
    ASSERT_FALSE(texts);
    EXPECT_EQ(texts.error().code, ErrorCode::kStale);
  }
}

TEST(Texts, DamagedChunksAreDamaged) {
  const auto chain = Chain(R"([{"name": "vlen-utf8"}])");
  for (const char* chunk : {"", "03000000", "02000000 00000000 00000000",
                            "03000000 00000000 00000000 ffffffff", "03000000 01000000 ff"}) {
    EXPECT_EQ(chain->RangeOfTexts(Hex(chunk)).error().code, ErrorCode::kDamaged) << chunk;
    EXPECT_EQ(chain->DecodeTexts(Hex(chunk), TextItems::kUtf8, 4).error().code, ErrorCode::kDamaged)
        << chunk;
  }
}

TEST(Texts, OtherOrdersAndBytesAreNotDecoded) {
  const auto transposed =
      Chain(R"([{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "vlen-utf8"}])",
            kString, {2, 3});
  EXPECT_FALSE(transposed->CanDecodeTexts());
  const auto as_it_is =
      Chain(R"([{"name": "transpose", "configuration": {"order": [0, 1]}}, {"name": "vlen-utf8"}])",
            kString, {2, 3});
  EXPECT_TRUE(as_it_is->CanDecodeTexts());
  EXPECT_FALSE(Chain(R"([{"name": "vlen-bytes"}])", kBinary)->CanDecodeTexts());
}

}  // namespace
}  // namespace zarrfs::vlen_test
