#include "zarrcore/codec/zstd_frame.h"

#include <algorithm>

#include "tests/unit/codec/compressor_samples.h"

namespace zarrfs::zstd_frame_test {
namespace {

using Kind = ZstdServing::Kind;

// Frames, and whether numcodecs.Zstd().decode(bytes.fromhex(…)) of numcodecs 0.11.0 and 0.15.2
// decodes or refuses each.
constexpr std::string_view kSized = "28b52ffd 2006 310000 7a6172726673";             // decodes
constexpr std::string_view kUnsized = "28b52ffd 0058 310000 7a6172726673";           // refuses
constexpr std::string_view kChecked = "28b52ffd 0458 310000 7a6172726673 d9e0b7f1";  // refuses
constexpr std::string_view kZeroId = "28b52ffd 015800 310000 7a6172726673";          // refuses
constexpr std::string_view kWithId = "28b52ffd 015807 310000 7a6172726673";          // refuses
constexpr std::string_view kEmpty = "28b52ffd 2000 010000";                          // refuses
constexpr std::string_view kSkippable = "5a2a4d18 03000000 010203";                  // refuses

// Serves `chunk` from memory, and counts the reads.
struct Served {
  explicit Served(Bytes chunk, std::optional<uint64_t> decoded_size = 6)
      : bytes(std::move(chunk)),
        size(decoded_size.value_or(0)),
        serving(ServeZstd(bytes.size(), decoded_size,
                          [&](uint64_t offset, std::span<std::byte> to) -> Result<void> {
                            ++reads;
                            EXPECT_LE(offset, bytes.size());
                            EXPECT_LE(to.size(), bytes.size() - offset);
                            std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset), to.size(),
                                        to.begin());
                            return {};
                          })) {}

  [[nodiscard]] std::optional<Kind> kind() const {
    return serving ? std::optional(serving->kind) : std::nullopt;
  }
  [[nodiscard]] bool damaged() const {
    return !serving && serving.error().code == ErrorCode::kDamaged;
  }
  // The file that a reader would see.
  [[nodiscard]] Bytes Patched() const {
    const auto rest = bytes.begin() + static_cast<ptrdiff_t>(serving->replaced);
    return Joined(PatchZstdHeader(Bytes(bytes.begin(), rest), size), Bytes(rest, bytes.end()));
  }

  Bytes bytes;
  uint64_t size;
  int reads = 0;
  Result<ZstdServing> serving;
};

TEST(ServeZstd, FrameThatStatesTheSizeIsServedAsItIsAfterOneRead) {
  const Served served(Hex(kSized));
  EXPECT_EQ(served.kind(), Kind::kPass);
  EXPECT_EQ(served.reads, 1);
  EXPECT_EQ(Served(Joined(Hex(kSized), Hex(kSkippable))).kind(), Kind::kPass);
  EXPECT_EQ(Served(Hex(kSized), std::nullopt).kind(), Kind::kPass);
}

TEST(ServeZstd, EverySpellingOfTheSizeIsRead) {
  // A size of one byte, two bytes (minus 256), four or eight bytes; with and without a window; with
  // a dictionary id of 0.
  const std::pair<const char*, uint64_t> headers[] = {
      {"28b52ffd 20 ff", 255},
      {"28b52ffd 60 0000", 256},
      {"28b52ffd 40 58 0100", 257},
      {"28b52ffd a0 01000100", 65537},
      {"28b52ffd 80 58 01000100", 65537},
      {"28b52ffd c0 58 0000000001000000", uint64_t{1} << 32},
      {"28b52ffd c3 58 00000000 0700000000000000", 7},
      {"28b52ffd 22 0000 07", 7},
  };
  for (const auto& [header, size] : headers) {
    const Bytes chunk = Joined(Hex(header), Bytes(20));
    EXPECT_EQ(Served(chunk, size).kind(), Kind::kPass) << header;
    EXPECT_EQ(Served(chunk, size + 1).kind(), Kind::kRecode) << header;
    EXPECT_TRUE(Served(chunk, size - 1).damaged()) << header;
  }
}

TEST(ServeZstd, FrameWithoutASizeGetsOne) {
  const Served served(Hex(kUnsized));
  EXPECT_EQ(served.kind(), Kind::kPatch);
  EXPECT_EQ(served.serving->replaced, 6u);
  EXPECT_EQ(served.Patched(), Hex("28b52ffd 8058 06000000 310000 7a6172726673"));
  EXPECT_EQ(Served(Hex(kChecked)).Patched(),
            Hex("28b52ffd 8458 06000000 310000 7a6172726673 d9e0b7f1"));
  EXPECT_EQ(Served(Hex(kZeroId)).Patched(), Hex("28b52ffd 815800 06000000 310000 7a6172726673"));
  const Served followed(Joined(Hex(kUnsized), Joined(Hex(kSkippable), Hex(kSkippable))));
  EXPECT_EQ(followed.kind(), Kind::kPatch);
  for (const Served* one : {&served, &followed}) {
    EXPECT_EQ(one->Patched().size(), one->bytes.size() + 4);
    EXPECT_EQ(Codec("zstd")->Decode(one->Patched(), 6), Text("zarrfs"));
  }
}

TEST(ServeZstd, HeaderOfEachBlockIsReadAndNoMore) {
  // 800 blocks of one repeated byte.
  Bytes frame = Hex("28b52ffd 0058");
  for (int block = 0; block < 800; ++block) {
    frame = Joined(std::move(frame), Hex(block == 799 ? "030010 2a" : "020010 2a"));
  }
  const Served served(frame, 100 << 20);
  EXPECT_EQ(served.kind(), Kind::kPatch);
  EXPECT_EQ(served.reads, 801);
  EXPECT_EQ(Codec("zstd")->Decode(served.Patched(), 100 << 20), Bytes(100 << 20, std::byte{0x2a}));
}

TEST(ServeZstd, SizeOfAnotherContentIsSeenByTheDecoder) {
  const Served served(Hex(kUnsized), 7);
  EXPECT_EQ(served.kind(), Kind::kPatch);
  EXPECT_FALSE(Codec("zstd")->Decode(served.Patched(), 7));
}

TEST(ServeZstd, WhatAHeaderCannotMendIsMadeAgain) {
  for (const auto& chunk :
       {Joined(Hex(kSkippable), Hex(kSized)), Joined(Hex(kUnsized), Hex(kUnsized)),
        Joined(Hex(kUnsized), Hex(kEmpty)), Joined(Hex(kEmpty), Hex(kSized)),
        Joined(Hex(kUnsized), Text("junk")),
        Joined(Hex(kUnsized), Hex("5a2a4d18 03000000 0102"))}) {
    EXPECT_EQ(Served(chunk).kind(), Kind::kRecode);
  }
  EXPECT_EQ(Served(Joined(Hex(kSized), Hex(kSized)), 12).kind(), Kind::kRecode);
  EXPECT_EQ(Served(Hex(kUnsized), std::nullopt).kind(), Kind::kRecode);
  EXPECT_EQ(Served(Hex(kEmpty), std::nullopt).kind(), Kind::kRecode);
  EXPECT_EQ(Served(Hex(kUnsized), uint64_t{1} << 32).kind(), Kind::kRecode);
  EXPECT_EQ(Served(Hex(kUnsized), UINT32_MAX).kind(), Kind::kPatch);
}

TEST(ServeZstd, BlocksWithoutEndAreNotCounted) {
  Bytes frame = Hex("28b52ffd 0058");
  frame.resize(frame.size() + 3'000'000);  // a million empty blocks
  const Served served(frame);
  EXPECT_EQ(served.kind(), Kind::kRecode);
  EXPECT_LE(served.reads, 100'000);
}

TEST(ServeZstd, WhatNoDecoderCanReadIsDamage) {
  const char* damaged[] = {
      "",
      "28",
      "28b52ffd",
      "28b52ffd 00",
      "27b52ffd 2006 310000 7a6172726673",
      "28b52ffd 2806 310000 7a6172726673",  // a reserved bit
      "28b52ffd 0058 370000 7a6172726673",  // a reserved block type
      "28b52ffd 0058 310000 7a61727266",    // a truncated block
      "28b52ffd 0058 310000",               // a block without its content
      "28b52ffd 0058 300000 7a6172726673",  // no block is marked as the last one
      "28b52ffd 0458 310000 7a6172726673",  // no checksum
      "28b52ffd 0058 f1ffff 7a6172726673",  // a block of two megabytes
  };
  for (const char* chunk : damaged) EXPECT_TRUE(Served(Hex(chunk)).damaged()) << chunk;
  EXPECT_TRUE(Served(Hex(kWithId)).damaged());
  EXPECT_EQ(Served(Hex(kWithId)).serving.error().message, "zstd: frame needs the dictionary 7");
}

TEST(ServeZstd, TruncatedAndFlippedInputIsContained) {
  for (const std::string_view sample : {kSized, kUnsized, kChecked, kZeroId, kSkippable}) {
    const Bytes whole = Joined(Hex(sample), Hex(kSkippable));
    for (size_t size = 0; size < whole.size(); ++size) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      const Served served(part);
      EXPECT_TRUE(served.serving || served.damaged());
    }
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
      Bytes flipped = whole;
      flipped[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
      const Served served(flipped);
      EXPECT_TRUE(served.serving || served.damaged());
    }
  }
}

TEST(ServeZstd, FailureToReadIsHandedOn) {
  for (const int failing : {0, 1}) {
    int reads = 0;
    const Bytes chunk = Hex(kUnsized);
    const auto serving =
        ServeZstd(chunk.size(), 6, [&](uint64_t offset, std::span<std::byte> to) -> Result<void> {
          if (reads++ == failing) return Fail(ErrorCode::kTimedOut, "no answer");
          std::copy_n(chunk.begin() + static_cast<ptrdiff_t>(offset), to.size(), to.begin());
          return {};
        });
    ASSERT_FALSE(serving);
    EXPECT_EQ(serving.error().code, ErrorCode::kTimedOut);
  }
}

}  // namespace
}  // namespace zarrfs::zstd_frame_test
