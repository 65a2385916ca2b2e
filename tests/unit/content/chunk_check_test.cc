#include "zarrcore/content/chunk_check.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/content/chunk_reader.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs::chunk_check_test {
namespace {

constexpr Age kNow{0};

// Codecs that are left out, in the order of the chain.
using Names = std::vector<std::string>;
const std::vector<Names> kChains = {{"crc32c"},
                                    {"numcodecs.crc32"},
                                    {"numcodecs.adler32"},
                                    {"numcodecs.fletcher32"},
                                    {"numcodecs.jenkins_lookup3"},
                                    {"crc32c", "numcodecs.crc32", "numcodecs.crc32c"},
                                    {"numcodecs.adler32", "numcodecs.fletcher32"}};

std::string Content(size_t size) {
  std::string content(size, '\0');
  std::mt19937 random(7);
  for (char& c : content) c = static_cast<char>(random());
  return content;
}

std::string Encoded(const Names& names, std::string_view content) {
  Bytes bytes(content.size());
  std::memcpy(bytes.data(), content.data(), content.size());
  for (const std::string& name : names) {
    bytes = *(*MakeChecksumCodec(CodecSpec{name}))->Encode(bytes);
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ChunkEncoding Cut(const Names& names) {
  ChunkEncoding encoding;
  for (const std::string& name : names) {
    const auto checksum = **Checksum::Of(CodecSpec{name});
    encoding.checksums.insert(encoding.checksums.begin(), checksum);
    (checksum.at_start() ? encoding.cut_front : encoding.cut_back) += kChecksumBytes;
  }
  return encoding;
}

std::string Flipped(std::string bytes, size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 4);
  return bytes;
}

// An array "a" of bytes whose chunks are objects or in shards, and who reads it.
struct Fixture {
  explicit Fixture(const ArrayMetadata& metadata, bool is_slow = false)
      : reader(4u << 20, is_slow) {
    auto made =
        ChunkSource::Make(store, "a", metadata, std::make_shared<IndexCache>(store, 16u << 20),
                          [this](const Error& error) { reports.push_back(error.message); });
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    source = std::move(*made);
  }

  // "" if bytes [begin, end) of the file are read, else why not.
  std::string Read(uint64_t chunk, const ChunkEncoding& encoding, uint64_t begin, uint64_t end) {
    const auto found = source->Locate(InnerIndex{chunk}, kNow);
    if (!found) return found.error().message;
    const ChunkFile file{*source, encoding, 0, InnerIndex{chunk}, *found->location};
    Bytes buffer(end - begin);
    const auto piece = reader.Read(file, begin, buffer);
    if (!piece) {
      EXPECT_EQ(piece.error().code, ErrorCode::kDamaged) << piece.error().message;
      return piece.error().message;
    }
    EXPECT_EQ(piece->bytes.size(), end - begin);
    return "";
  }

  // Likewise of all of it, `step` bytes at a time, until the first failure.
  std::string ReadAll(uint64_t chunk, const ChunkEncoding& encoding, uint64_t size, uint64_t step) {
    std::string failure;
    for (uint64_t at = 0; at < size && failure.empty(); at += step) {
      failure = Read(chunk, encoding, at, std::min(size, at + step));
    }
    return failure;
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::vector<std::string> reports;
  std::shared_ptr<ChunkSource> source;
  ChunkReader reader;
};

// (The codecs of the array say that there are checksums; which ones says the encoding.)
ArrayMetadata Unsharded() {
  return Array("[100000]", "[1000]", R"({"name": "bytes"}, {"name": "gzip"}, {"name": "crc32c"})");
}

TEST(ChunkCheck, EveryWrongByteIsSeenHoweverTheChunkIsRead) {
  const std::string content = Content(1000);
  for (const Names& names : kChains) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(names, ", ")));
    const std::string encoded = Encoded(names, content);
    for (const bool is_slow : {false, true}) {
      for (const uint64_t step : {uint64_t{1000}, uint64_t{999}, uint64_t{128}, uint64_t{7}}) {
        Fixture fixture(Unsharded(), is_slow);
        fixture.store->Put("a/c/0", encoded);
        EXPECT_EQ(fixture.ReadAll(0, Cut(names), 1000, step), "");
        EXPECT_EQ(fixture.ReadAll(0, Cut(names), 1000, step), "");
        EXPECT_TRUE(fixture.reports.empty());
        for (size_t at = 0; at < encoded.size(); at += 97) {
          fixture.store->Put("a/c/1", Flipped(encoded, at));
          for (int again = 0; again < 2; ++again) {
            const std::string failure = fixture.ReadAll(1, Cut(names), 1000, step);
            EXPECT_TRUE(Contains(failure, "a/c/1: ")) << at << ": " << failure;
            EXPECT_TRUE(Contains(failure, "checksum 0x")) << failure;
          }
          EXPECT_NE(fixture.Read(1, Cut(names), 0, 10), "") << "known to be wrong";
        }
        EXPECT_EQ(fixture.reports.size(), (encoded.size() + 96) / 97) << "once a version";
      }
    }
  }
}

TEST(ChunkCheck, PartsComeInAnyOrder) {
  const std::string encoded = Encoded({"crc32c"}, Content(1000));
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    Fixture fixture(Unsharded());
    const bool is_damaged = round % 2 == 0;
    fixture.store->Put("a/c/0", is_damaged ? Flipped(encoded, random() % encoded.size()) : encoded);
    std::vector<uint64_t> parts(10);
    std::iota(parts.begin(), parts.end(), 0);
    std::shuffle(parts.begin(), parts.end(), random);
    if (parts.front() == 9) std::swap(parts.front(), parts.back());  // (see the next test)
    for (size_t i = 0; i < parts.size(); ++i) {
      // (With some of what others have read.)
      const uint64_t begin = parts[i] * 100 - std::min<uint64_t>(parts[i] * 100, random() % 50);
      const std::string failure = fixture.Read(0, Cut({"crc32c"}), begin, parts[i] * 100 + 100);
      if (i + 1 < parts.size()) continue;
      EXPECT_EQ(!failure.empty(), is_damaged) << failure;
    }
  }
}

TEST(ChunkCheck, AReadOfTheEndAloneChecksTheWholeChunk) {
  Fixture fixture(Unsharded());
  fixture.store->Put("a/c/0", Flipped(Encoded({"crc32c"}, Content(1000)), 10));
  EXPECT_EQ(fixture.Read(0, Cut({"crc32c"}), 0, 500), "") << "a part is not protected";
  EXPECT_NE(fixture.Read(0, Cut({"crc32c"}), 500, 1000), "");
  fixture.store->Put("a/c/1", Flipped(Encoded({"crc32c"}, Content(1000)), 10));
  EXPECT_NE(fixture.Read(1, Cut({"crc32c"}), 500, 1000), "");
}

TEST(ChunkCheck, MorePartsThanAreKeptAreReadAgain) {
  Fixture fixture(Unsharded());
  fixture.store->Put("a/c/0", Flipped(Encoded({"crc32c"}, Content(1000)), 10));
  std::string failure;
  for (uint64_t at = 0; at < 900 && failure.empty(); at += 2) {
    failure = fixture.Read(0, Cut({"crc32c"}), at, at + 1);
  }
  EXPECT_TRUE(Contains(failure, "checksum")) << failure;
}

TEST(ChunkCheck, ChunksThatWereEvictedAreReadAgain) {
  const size_t count = 4 * ChunkSums::kMaxChunks;
  Fixture fixture(
      Array("[10000000]", "[1000]", R"({"name": "bytes"}, {"name": "gzip"}, {"name": "crc32c"})"));
  const std::string damaged = Flipped(Encoded({"crc32c"}, Content(1000)), 10);
  for (size_t chunk = 0; chunk < count; ++chunk) {
    fixture.store->Put(fmt::format("a/c/{}", chunk), damaged);
    EXPECT_EQ(fixture.Read(chunk, Cut({"crc32c"}), 0, 100), "");
  }
  EXPECT_NE(fixture.Read(0, Cut({"crc32c"}), 100, 200), "");
}

TEST(ChunkCheck, AGoodChunkIsNotCheckedAgain) {
  Fixture fixture(Unsharded());
  fixture.store->Put("a/c/0", Encoded({"crc32c"}, Content(1000)));
  EXPECT_EQ(fixture.ReadAll(0, Cut({"crc32c"}), 1000, 1000), "");
  const auto reads = fixture.store->count(FakeStore::Call::kObjectRead);
  EXPECT_EQ(fixture.ReadAll(0, Cut({"crc32c"}), 1000, 1000), "");
  EXPECT_EQ(fixture.store->count(FakeStore::Call::kObjectRead), reads + 1);
}

TEST(ChunkCheck, PatchedFramesAreCheckedAsTheyAreStored) {
  // A frame of "zarrfs" that does not state its size.
  const std::string frame("\x28\xb5\x2f\xfd\x00\x58\x31\x00\x00zarrfs", 15);
  const std::string encoded = Encoded({"crc32c"}, frame);
  ChunkEncoding encoding = Cut({"crc32c"});
  encoding.kind = ChunkEncoding::Kind::kPatchedZstd;
  encoding.size = 6;
  const uint64_t size = 19;
  for (const uint64_t step : {19, 8, 5, 1}) {
    Fixture fixture(
        Array("[12]", "[6]", R"({"name": "bytes"}, {"name": "zstd"}, {"name": "crc32c"})"));
    fixture.store->Put("a/c/0", encoded);
    EXPECT_EQ(fixture.ReadAll(0, encoding, size, step), "") << step;
    fixture.store->Put("a/c/1", Flipped(encoded, 12));
    EXPECT_TRUE(Contains(fixture.ReadAll(1, encoding, size, step), "checksum")) << step;
  }
}

std::string Around(std::string_view inner, std::string_view around) {
  return Sharding("[500]", inner) + std::string(around);
}

TEST(ChunkCheck, AShardIsCheckedAtTheFirstReadAndNotAtALookUp) {
  const std::string content = Content(500);
  const auto metadata =
      Array("[2000]", "[1000]", Around(R"({"name": "bytes"})", R"(, {"name": "crc32c"})"));
  const std::string shard = WithCrc32c(ShardBytes({content, content}));
  for (const size_t at : {size_t{700}, shard.size() - 1}) {
    Fixture fixture(metadata);
    fixture.store->Put("a/c/0", shard);
    fixture.store->Put("a/c/1", Flipped(shard, at));
    EXPECT_EQ(fixture.Read(0, {}, 0, 500), "");
    const auto reads = fixture.store->count(FakeStore::Call::kObjectRead);
    EXPECT_EQ(fixture.source->Locate(InnerIndex{2}, kNow)->location->length, 500U);
    EXPECT_EQ(fixture.store->count(FakeStore::Call::kObjectRead), reads) << "a look-up";
    for (int again = 0; again < 2; ++again) {
      for (const uint64_t chunk : {2, 3}) {
        EXPECT_TRUE(Contains(fixture.Read(chunk, {}, 0, 10), "a/c/1: checksum of the shard"));
      }
    }
    EXPECT_EQ(fixture.reports.size(), 1U);
  }
}

TEST(ChunkCheck, ShardsInAShardAreCheckedToo) {
  const std::string content = Content(250);
  const std::string inner = WithCrc32c(ShardBytes({content, content}));
  const std::string nested = Sharding("[250]", R"({"name": "bytes"})") + R"(, {"name": "crc32c"})";
  const auto metadata = Array("[2000]", "[1000]", Around(nested, ""));
  Fixture fixture(metadata);
  fixture.store->Put("a/c/0", ShardBytes({inner, Flipped(inner, 100)}));
  EXPECT_EQ(fixture.Read(0, {}, 0, 250), "");
  EXPECT_TRUE(Contains(fixture.Read(3, {}, 0, 250), "checksum of the shard"));
}

TEST(ChunkCheck, LargeShardsAreNotChecked) {
  const uint64_t size = 9u << 20;
  const auto metadata = Array(
      fmt::format("[{}]", 2 * size), fmt::format("[{}]", 2 * size),
      Sharding(fmt::format("[{}]", size), R"({"name": "bytes"})") + R"(, {"name": "crc32c"})");
  Fixture fixture(metadata);
  const std::string content(size, 'x');
  fixture.store->Put("a/c/0", Flipped(WithCrc32c(ShardBytes({content, content})), 700));
  EXPECT_EQ(fixture.Read(0, {}, 0, 500), "");
}

TEST(ChunkCheck, SumsOfPartsCombine) {
  const std::string text = Content(300);
  const auto bytes = std::as_bytes(std::span(text));
  const SumKinds all = {true, true, true};
  for (const size_t at : {0, 1, 2, 17, 150, 299, 300}) {
    EXPECT_EQ(Combine(SumsOf(bytes.first(at), all), SumsOf(bytes.subspan(at), all), 300 - at, all),
              SumsOf(bytes, all))
        << at;
  }
}

}  // namespace
}  // namespace zarrfs::chunk_check_test
