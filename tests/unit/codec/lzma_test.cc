#include <sys/resource.h>

#include <fstream>
#include <string>

#include "tests/unit/codec/compressor_samples.h"
#include "zarrcore/base/memory_budget.h"

namespace zarrfs::lzma_test {
namespace {

// In these samples, d is Squares(), and
// f = [{"id": lzma.FILTER_DELTA, "dist": 2},
//      {"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 1}].
// numcodecs.LZMA(preset=1).encode(d)
constexpr std::string_view kXz =
    "fd377a585a000004e6d6b4460200210110000000a8708e8601004f0000010004000900100019002400310040005100"
    "640079009000a900c400e1000500260049006e009500be00e9001b004a007b00ae00e3001f0058009300d000140055"
    "009800dd0029007200bd000f0000cba4454e218a8296000168507005c9e61fb6f37d010000000004595a";
// numcodecs.LZMA(check=lzma.CHECK_CRC32).encode(d)
constexpr std::string_view kXzCrc32 =
    "fd377a585a0000016922de360200210116000000742fe5a301004f0000010004000900100019002400310040005100"
    "640079009000a900c400e1000500260049006e009500be00e9001b004a007b00ae00e3001f0058009300d000140055"
    "009800dd0029007200bd000f00003cdc8a83000164507c4a7c4a9042990d010000000001595a";
// numcodecs.LZMA(filters=f).encode(d)
constexpr std::string_view kXzFiltered =
    "fd377a585a000004e6d6b44602010301012101161c477856e0004f004463000060027ff3a548a596cc88c2e942edc1"
    "d59ace47cbca82d18db8bd586796cdff0c7b5bf6cfe265612a65b75fefbeade1b53c1a4fc936054e895c5e6d5202b1"
    "5d958f510000cba4454e218a829600016050788f102e1fb6f37d010000000004595a";
// numcodecs.LZMA(format=lzma.FORMAT_ALONE).encode(d)
constexpr std::string_view kAlone =
    "5d00008000ffffffffffffffff000060027ff751aa110b13f91a482a6c5b14a02b08b597800a36be04334744f41a1c"
    "cdac8b133734e15844efc9a9269c9831097af2c3958e5bf144700df768c6ac2953d8760f84368b97d5fc89aa0d9c1e"
    "9ad7a828f0bfffff93220000";
// numcodecs.LZMA(format=lzma.FORMAT_RAW, filters=f).encode(d)
constexpr std::string_view kRaw =
    "e0004f004463000060027ff3a548a596cc88c2e942edc1d59ace47cbca82d18db8bd586796cdff0c7b5bf6cfe26561"
    "2a65b75fefbeade1b53c1a4fc936054e895c5e6d5202b15d958f510000";
constexpr std::string_view kRawConfiguration =
    R"({"format": 3, "check": -1, "preset": null,
        "filters": [{"id": 3, "dist": 2}, {"id": 33, "preset": 6, "lc": 0, "lp": 1}]})";
// numcodecs.LZMA(format=lzma.FORMAT_RAW,
//                filters=[{"id": lzma.FILTER_LZMA1, "dict_size": 65536}]).encode(d)
constexpr std::string_view kRawLzma1 =
    "000060027ff751aa110b13f91a482a6c5b14a02b08b597800a36be04334744f41a1ccdac8b133734e15844efc9a926"
    "9c9831097af2c3958e5bf144700df768c6ac2953d8760f84368b97d5fc89aa0d9c1e9ad7a828f0bfffff93220000";

TEST(LzmaCodec, ReadsEachFormatThatNumcodecsWrites) {
  const std::string nulls = R"("check": -1, "preset": null, "filters": null})";
  for (const char* name : {"lzma", "numcodecs.lzma"}) {
    for (const std::string_view xz : {kXz, kXzCrc32, kXzFiltered}) {
      EXPECT_EQ(Codec(name)->Decode(Hex(xz), 80), Squares());
      EXPECT_EQ(Codec(name, R"({"format": 1, )" + nulls)->Decode(Hex(xz), 80), Squares());
      EXPECT_EQ(Codec(name, R"({"format": 0, )" + nulls)->Decode(Hex(xz), 80), Squares());
    }
    EXPECT_EQ(Codec(name, R"({"format": 0})")->Decode(Hex(kAlone), 80), Squares());
    EXPECT_EQ(Codec(name, R"({"format": 2, )" + nulls)->Decode(Hex(kAlone), 80), Squares());
    EXPECT_EQ(Codec(name, kRawConfiguration)->Decode(Hex(kRaw), 80), Squares());
  }
  EXPECT_EQ(Codec("lzma", R"({"format": 3, "filters": [{"id": 4611686018427387905,
                                                         "dict_size": 65536}]})")
                ->Decode(Hex(kRawLzma1), 80),
            Squares());
}

TEST(LzmaCodec, FormatIsTheOneThatIsStated) {
  EXPECT_FALSE(Codec("lzma")->Decode(Hex(kAlone), 80));
  EXPECT_FALSE(Codec("lzma", R"({"format": 2})")->Decode(Hex(kXz), 80));
}

TEST(LzmaCodec, GoesThereAndBack) {
  ExpectThereAndBack(*Codec("lzma"));
  ExpectThereAndBack(*Codec("lzma", R"({"preset": 0, "check": 0})"));
  ExpectThereAndBack(*Codec("lzma", R"({"preset": 2147483651, "check": 10})"));  // 3 | extreme
}

TEST(LzmaCodec, StreamsAreConcatenatedAndOtherBytesAreDamage) {
  const Bytes two = Joined(Hex(kXz), Hex(kXzCrc32));
  EXPECT_EQ(Codec("lzma")->Decode(two, 160), Joined(Squares(), Squares()));
  EXPECT_FALSE(Codec("lzma")->Decode(two, 159));
  EXPECT_FALSE(Codec("lzma")->Decode(Joined(Hex(kXz), Text("junk")), 100));
  EXPECT_EQ(
      MessageOf(Codec("lzma", R"({"format": 2})")->Decode(Joined(Hex(kAlone), Text("junk")), 100)),
      "lzma: 4 bytes follow the stream");
}

TEST(LzmaCodec, WrongChecksumIsDamage) {
  Bytes wrong = Hex(kXz);
  wrong[40] ^= std::byte{1};
  const auto decoded = Codec("lzma")->Decode(wrong, 80);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
}

TEST(LzmaCodec, BombStopsAtTheLimit) {
  const Bytes bomb = *Codec("lzma", R"({"preset": 0})")->Encode(Bytes(10'000'000));
  EXPECT_EQ(MessageOf(Codec("lzma")->Decode(bomb, 1024)),
            "lzma: expected at most 1024 bytes, found more");
}

TEST(LzmaCodec, DictionaryBeyondTheCapIsNotAllocated) {
  Bytes hungry = Hex(kAlone);
  const Bytes size = Hex("000000c0");
  std::copy(size.begin(), size.end(), hungry.begin() + 1);
  const auto decoded = Codec("lzma", R"({"format": 2})")->Decode(hungry, 80);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(MessageOf(decoded).find("lzma: needs 3"), 0u) << MessageOf(decoded);
  EXPECT_EQ(RefusedConfiguration("lzma", R"({"format": 3, "filters":
                                             [{"id": 33, "dict_size": 1610612736}]})")
                .code,
            ErrorCode::kTooLarge);
}

#ifndef ZARRFS_SANITIZED
// The size of this process's data in bytes, as RLIMIT_DATA counts it.
rlim_t DataOfProcess() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmData:")) return std::stoul(line.substr(7)) << 10;
  }
  return RLIM_INFINITY;
}

TEST(LzmaCodec, MemoryIsTakenFromTheBudgetBeforeItIsAllocated) {
  rlimit before = {};
  getrlimit(RLIMIT_DATA, &before);
  rlimit small = before;
  small.rlim_cur = DataOfProcess() + (32u << 20);
  ProcessMemory().SetLimit(1u << 20);
  setrlimit(RLIMIT_DATA, &small);
  const auto codec = Codec("lzma", R"({"format": 3, "filters": [{"id": 4611686018427387905,
                                                                 "dict_size": 134217728}]})");
  const auto decoded =
      codec == nullptr ? Result<Bytes>(Bytes()) : codec->Decode(Hex(kRawLzma1), 80);
  setrlimit(RLIMIT_DATA, &before);
  ProcessMemory().SetLimit(UINT64_MAX);
  ASSERT_NE(codec, nullptr) << "the configuration alone takes no memory";
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kTooLarge) << decoded.error().message;
  EXPECT_EQ(codec->Decode(Hex(kRawLzma1), 80), Squares());
}
#endif

TEST(LzmaCodec, DamagedInputIsContained) {
  ExpectTruncationFails(*Codec("lzma"), Hex(kXzFiltered), 80);
  ExpectBitFlipsAreContained(*Codec("lzma"), Hex(kXzFiltered), 80);
  ExpectTruncationFails(*Codec("lzma", R"({"format": 2})"), Hex(kAlone), 80);
  ExpectBitFlipsAreContained(*Codec("lzma", R"({"format": 2})"), Hex(kAlone), 80);
  ExpectTruncationFails(*Codec("lzma", kRawConfiguration), Hex(kRaw), 80);
  ExpectBitFlipsAreContained(*Codec("lzma", kRawConfiguration), Hex(kRaw), 80);
}

TEST(LzmaCodec, WhatOnlyEncodersUseRefusesNoChunk) {
  for (const char* odd : {R"({"check": 16})", R"({"preset": 10})"}) {
    ExpectThereAndBack(*Codec("lzma", odd));
  }
}

TEST(LzmaCodec, WrongConfigurationIsDamage) {
  for (const char* wrong :
       {R"({"format": 4})", R"({"format": 3})", R"({"format": 3, "filters": []})",
        R"({"format": 3, "filters": [1]})", R"({"format": 3, "filters": [{"id": 99}]})",
        R"({"format": 3, "filters": [{"id": 3, "dist": 300}, {"id": 33}]})",
        R"({"format": 3, "filters": [{"id": 4611686018427387905, "lc": 9}]})",
        R"({"format": 3, "filters": [{"id": 33}, {"id": 33}]})"}) {
    EXPECT_EQ(RefusedConfiguration("lzma", wrong).code, ErrorCode::kDamaged) << wrong;
  }
}

}  // namespace
}  // namespace zarrfs::lzma_test
