#include "zarrcore/array/shard_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/array/array_testing.h"

namespace zarrfs::shard_index_test {
namespace {

using Counts = std::vector<uint64_t>;
using Chain = std::vector<CodecSpec>;

const CodecSpec kLittle = {"bytes", Json{{"endian", "little"}}};
const CodecSpec kBig = {"bytes", Json{{"endian", "big"}}};
const CodecSpec kCrc = {"crc32c"};

ShardIndexSpec Spec(const Counts& counts, const Chain& chain, bool at_end = true) {
  auto spec = ShardIndexSpec::Make(counts, chain, at_end);
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
  return spec ? std::move(*spec) : ShardIndexSpec();
}

Result<ShardIndex> Decoded(std::string_view bytes, const ShardIndexSpec& spec,
                           uint64_t shard_size = 100) {
  return ShardIndex::Decode(std::as_bytes(std::span(bytes)), spec, shard_size);
}

/// The entry of the only chunk of a shard of 100 bytes.
Result<std::optional<ChunkRange>> Found(uint64_t offset, uint64_t length) {
  const auto index = Decoded(IndexBytes({{offset, length}}), Spec({1}, {kLittle, kCrc}));
  EXPECT_TRUE(index);
  return index->Find(0);
}

void ExpectDamaged(uint64_t offset, uint64_t length, std::string_view reason) {
  const auto found = Found(offset, length);
  ASSERT_FALSE(found) << offset << " " << length;
  EXPECT_EQ(found.error().code, ErrorCode::kDamaged);
  EXPECT_TRUE(Contains(found.error().message, reason)) << found.error().message;
}

TEST(ShardIndex, EntriesAreOffsetAndLengthInRowMajorOrder) {
  const auto index = Decoded(IndexBytes({{0, 10}, {kNoEntry, kNoEntry}, {30, 5}, {10, 20}}),
                             Spec({2, 2}, {kLittle, kCrc}));
  ASSERT_TRUE(index);
  EXPECT_EQ(index->entries(), 4U);
  EXPECT_EQ(*index->Find(0), (ChunkRange{0, 10}));
  EXPECT_EQ(*index->Find(1), std::nullopt);
  EXPECT_TRUE(index->IsMissing(1));
  EXPECT_FALSE(index->IsMissing(2));
  EXPECT_EQ(*index->Find(2), (ChunkRange{30, 5}));
  EXPECT_EQ(*index->Find(3), (ChunkRange{10, 20}));
}

TEST(ShardIndex, HalfEmptyEntriesAreDamage) {
  ExpectDamaged(kNoEntry, 5, "entry 0 is half empty");
  ExpectDamaged(5, kNoEntry, "entry 0 is half empty");
}

TEST(ShardIndex, AChunkWithoutBytesIsDamage) {
  ExpectDamaged(0, 0, "no bytes");
  ExpectDamaged(7, 0, "no bytes");
}

TEST(ShardIndex, AChunkThatReachesBeyondTheShardIsDamage) {
  EXPECT_EQ(*Found(0, 100), (ChunkRange{0, 100}));
  EXPECT_EQ(*Found(99, 1), (ChunkRange{99, 1}));
  ExpectDamaged(0, 101, "beyond the shard");
  ExpectDamaged(100, 1, "beyond the shard");
  ExpectDamaged(101, 1, "beyond the shard");
}

TEST(ShardIndex, ASumThatWrapsAroundIsDamage) {
  ExpectDamaged(kNoEntry - 1, 3, "beyond the shard");
  ExpectDamaged(3, kNoEntry - 1, "beyond the shard");
  ExpectDamaged(uint64_t{1} << 63, uint64_t{1} << 63, "beyond the shard");
}

TEST(ShardIndex, RangesMayOverlapEachOtherAndTheIndex) {
  const auto index = Decoded(IndexBytes({{0, 60}, {30, 70}, {0, 60}}), Spec({3}, {kLittle, kCrc}));
  ASSERT_TRUE(index);
  EXPECT_EQ(*index->Find(0), (ChunkRange{0, 60}));
  EXPECT_EQ(*index->Find(1), (ChunkRange{30, 70}));
  EXPECT_EQ(*index->Find(2), (ChunkRange{0, 60}));
}

TEST(ShardIndex, AWrongChecksumIsDamageAndNamesBoth) {
  std::string bytes = IndexBytes({{0, 10}});
  bytes[0] ^= 1;
  const auto index = Decoded(bytes, Spec({1}, {kLittle, kCrc}));
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::kDamaged);
  EXPECT_TRUE(Contains(index.error().message, "shard index: crc32c checksum 0x"));
  EXPECT_TRUE(Contains(index.error().message, "computed 0x")) << index.error().message;
}

TEST(ShardIndex, AnIndexOfAnotherSizeIsDamage) {
  const auto spec = Spec({2}, {kLittle, kCrc});
  EXPECT_EQ(spec.encoded_size(), 36U);
  EXPECT_FALSE(Decoded(IndexBytes({{0, 10}}), spec));
  EXPECT_FALSE(Decoded("", spec));
}

TEST(ShardIndex, NeedsNoChecksum) {
  const auto spec = Spec({1}, {kLittle});
  EXPECT_EQ(spec.encoded_size(), 16U);
  const auto index = Decoded(Little64(3) + Little64(4), spec);
  ASSERT_TRUE(index);
  EXPECT_EQ(*index->Find(0), (ChunkRange{3, 4}));
}

TEST(ShardIndex, MayBeBigEndian) {
  const std::string_view bytes("\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04", 16);
  const auto index = Decoded(bytes, Spec({1}, {kBig}));
  ASSERT_TRUE(index);
  EXPECT_EQ(*index->Find(0), (ChunkRange{3, 4}));
}

TEST(ShardIndex, MayBeTransposed) {
  const CodecSpec reversed = {"transpose", *ParseJson(R"({"order": [1, 0]})", "")};
  const std::string bytes = Little64(1) + Little64(2) + Little64(10) + Little64(20);
  const auto index = Decoded(bytes, Spec({2}, {reversed, kLittle}));
  ASSERT_TRUE(index);
  EXPECT_EQ(*index->Find(0), (ChunkRange{1, 10}));
  EXPECT_EQ(*index->Find(1), (ChunkRange{2, 20}));
}

TEST(ShardIndex, OfRankZeroHasOneEntry) {
  const auto index = Decoded(IndexBytes({{0, 1}}), Spec({}, {kLittle, kCrc}));
  ASSERT_TRUE(index);
  EXPECT_EQ(index->entries(), 1U);
}

using Entries = std::vector<std::pair<uint64_t, uint64_t>>;

// Expects that a packed index has exactly the encoded entries, for pieces of several sizes.
void ExpectKept(const Entries& entries) {
  const std::string bytes = IndexBytes(entries);
  const auto spec = Spec({entries.size()}, {kLittle, kCrc});
  for (const size_t piece : {bytes.size(), size_t{1}, size_t{1000}, size_t{1024}, size_t{4100}}) {
    ShardIndex::Decoder decoder(spec, kNoEntry - 1);
    for (size_t at = 0; at < bytes.size(); at += piece) {
      decoder.Take(std::as_bytes(std::span(bytes)).subspan(at, std::min(piece, bytes.size() - at)));
    }
    const auto index = decoder.Finish();
    ASSERT_TRUE(index) << index.error().message;
    ASSERT_EQ(index->entries(), entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto& [offset, length] = entries[i];
      const bool missing = offset == kNoEntry && length == kNoEntry;
      EXPECT_EQ(index->IsMissing(i), missing) << i;
      const auto found = index->Find(i);
      if (missing) {
        EXPECT_EQ(*found, std::nullopt) << i;
      } else if (offset == kNoEntry || length == kNoEntry) {
        ASSERT_FALSE(found) << i;
        EXPECT_TRUE(Contains(found.error().message,
                             fmt::format("offset {:#x}, length {:#x}", offset, length)))
            << i << ": " << found.error().message;
      } else if (length != 0 && offset <= kNoEntry - 1 - length) {
        ASSERT_TRUE(found) << i << ": " << found.error().message;
        EXPECT_EQ(*found, (ChunkRange{offset, length})) << i;
      } else {
        EXPECT_FALSE(found) << i;
      }
    }
  }
}

TEST(ShardIndex, KeepsEveryEntryAsItIs) {
  std::mt19937_64 random(1);
  for (const size_t count : {1, 2, 63, 64, 65, 127, 128, 1000}) {
    // Each round mixes more kinds of numbers than the round before.
    for (const int kinds : {1, 2, 3, 5, 8}) {
      Entries entries;
      for (size_t i = 0; i < count; ++i) {
        const auto number = [&]() -> uint64_t {
          switch (random() % kinds) {
            case 0:
              return 1'000'000 + (random() & 0xffff0);
            case 1:
              return kNoEntry;
            case 2:
              return random() >> random() % 64;
            case 3:
              return 0;
            case 4:
              return kNoEntry - random() % 3;
            default:
              return uint64_t{1} << random() % 64;
          }
        };
        const uint64_t offset = number();
        entries.emplace_back(offset, offset == kNoEntry && random() % 4 != 0 ? kNoEntry : number());
      }
      ExpectKept(entries);
    }
  }
  ExpectKept(Entries(200, {kNoEntry, kNoEntry}));
  ExpectKept(Entries(200, {0, kNoEntry - 1}));
  ExpectKept({{kNoEntry, kNoEntry}, {0, 0}, {0, kNoEntry}, {kNoEntry, 0}});
}

TEST(ShardIndex, IsSmallInMemory) {
  Entries entries;  // chunks of about 20,000 bytes, in ascending order
  std::mt19937_64 random(1);
  uint64_t offset = 0;
  for (size_t i = 0; i < 64'000; ++i) {
    const uint64_t length = 20'000 + random() % 2'000;
    entries.emplace_back(offset, length);
    offset += length;
  }
  const auto small = Decoded(IndexBytes(entries), Spec({entries.size()}, {kLittle, kCrc}), offset);
  ASSERT_TRUE(small);
  EXPECT_LE(small->memory_bytes(), 5 * entries.size());
  for (size_t i = 0; i < entries.size(); ++i) entries[i] = {i * 4096, 4096};
  const auto equal = Decoded(IndexBytes(entries), Spec({entries.size()}, {kLittle, kCrc}), offset);
  ASSERT_TRUE(equal);
  EXPECT_LE(equal->memory_bytes(), 2 * entries.size());
}

TEST(ShardIndexSpec, CodecsThatGiveDifferentSizesAreRefused) {
  const CodecSpec gzip = {"gzip", Json{{"level", 1}}};
  const auto spec = ShardIndexSpec::Make(Counts{4}, Chain{kLittle, gzip}, true);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(Contains(spec.error().message, "size of the index vary")) << spec.error().message;
}

TEST(ShardIndexSpec, UnknownCodecsAreRefusedByName) {
  const auto spec = ShardIndexSpec::Make(Counts{4}, Chain{kLittle, {"fancy"}}, true);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(spec.error().message, "index_codecs: codec 'fancy' is not known");
}

TEST(ShardIndexSpec, HasACap) {
  EXPECT_TRUE(ShardIndexSpec::Make(Counts{kMaxSlotsPerObject}, Chain{kLittle}, true));
  for (const Counts& counts :
       {Counts{kMaxSlotsPerObject + 1}, Counts{uint64_t{1} << 40, uint64_t{1} << 40}}) {
    const auto spec = ShardIndexSpec::Make(counts, Chain{kLittle}, true);
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().code, ErrorCode::kUnsupported);
  }
}

}  // namespace
}  // namespace zarrfs::shard_index_test
