#include "zarrcore/content/chunk_reader.h"

#include <gtest/gtest.h>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "tests/unit/support/memory.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs::chunk_reader_test {
namespace {

using Kind = ChunkEncoding::Kind;

constexpr Age kNow{0};
constexpr std::string_view kZstd = R"({"name": "bytes"}, {"name": "zstd"})";

std::string Raw(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    if (hex[i] == ' ')
      --i;
    else
      bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// Frames of "zarrfs".
const std::string kSized = Raw("28b52ffd 2006 310000 7a6172726673");
const std::string kUnsized = Raw("28b52ffd 0058 310000 7a6172726673");
const std::string kSkippable = Raw("5a2a4d18 03000000 010203");

// An array "a" whose chunks are objects a/c/0, a/c/1, …
struct Fixture {
  explicit Fixture(const ArrayMetadata& metadata) {
    auto made =
        ChunkSource::Make(store, "a", metadata, std::make_shared<IndexCache>(store, 1u << 20),
                          [this](const Error& error) { reports.push_back(error.message); });
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    source = std::move(*made);
  }

  // The file in pieces of `step` bytes; what went wrong in <>.
  std::string Text(uint64_t chunk, const ChunkEncoding& encoding, size_t step = 64,
                   uint32_t number = 0) {
    const auto found = source->Locate(InnerIndex{chunk}, kNow);
    if (!found) return fmt::format("<{}>", found.error().message);
    if (!found->location) return "-";
    const ChunkFile file{*source, encoding, number, InnerIndex{chunk}, *found->location};
    const auto size = served.Size(file);
    if (!size) return fmt::format("<{}>", size.error().message);
    std::string text;
    for (;;) {
      Bytes buffer(step);
      const auto piece = served.Read(file, text.size(), buffer);
      if (!piece) return fmt::format("<{}>", piece.error().message);
      if (piece->bytes.empty()) break;
      text.append(reinterpret_cast<const char*>(piece->bytes.data()), piece->bytes.size());
    }
    EXPECT_EQ(text.size(), *size);
    return text;
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::vector<std::string> reports;
  std::shared_ptr<ChunkSource> source;
  ChunkReader served{1u << 20};
};

ChunkEncoding Zstd(uint64_t size) {
  ChunkEncoding encoding;
  encoding.kind = Kind::kPatchedZstd;
  encoding.size = size;
  return encoding;
}

ChunkEncoding Elements(uint64_t size) {
  ChunkEncoding encoding;
  encoding.kind = Kind::kDecoded;
  encoding.size = size;
  return encoding;
}

TEST(ChunkReader, StoredBytesOmitTheChecksum) {
  Fixture fixture(Array("[8]", "[8]", R"({"name": "bytes"}, {"name": "zstd"})"));
  fixture.store->Put("a/c/0", "headbodytail");
  ChunkEncoding encoding;
  EXPECT_EQ(fixture.Text(0, encoding), "headbodytail");
  encoding.cut_front = 4;
  encoding.cut_back = 4;
  for (const size_t step : {1, 3, 64}) EXPECT_EQ(fixture.Text(0, encoding, step), "body");
}

TEST(ChunkReader, AChunkShorterThanWhatIsCutOffIsDamaged) {
  Fixture fixture(Array("[8]", "[8]", kZstd));
  fixture.store->Put("a/c/0", "abc");
  ChunkEncoding encoding;
  encoding.cut_back = 4;
  EXPECT_EQ(fixture.Text(0, encoding),
            "<a/c/0: a chunk of 3 bytes is shorter than its checksum of 4>");
  EXPECT_EQ(fixture.reports.size(), 1U);
}

TEST(ChunkReader, ZstdFramesSuitOldDecoders) {
  Fixture fixture(Array("[30]", "[6]", kZstd));
  const std::string patched = Raw("28b52ffd 8058 06000000 310000 7a6172726673");
  fixture.store->Put("a/c/0", kSized);
  fixture.store->Put("a/c/1", kUnsized);
  fixture.store->Put("a/c/2", kSkippable + kSized);
  fixture.store->Put("a/c/3", "no frame");
  for (int again = 0; again < 2; ++again) {
    for (const size_t step : {1, 5, 64}) {
      EXPECT_EQ(fixture.Text(0, Zstd(6), step), kSized);
      EXPECT_EQ(fixture.Text(1, Zstd(6), step), patched) << "the size is written into the header";
      EXPECT_EQ(fixture.Text(2, Zstd(6), step), kSized) << "encoded again";
    }
  }
  EXPECT_EQ(fixture.Text(3, Zstd(6)), "<a/c/3: zstd: no frame starts at byte 0>");
  EXPECT_EQ(fixture.served.statistics().misses, 1U) << "only what is encoded again is kept";
}

TEST(ChunkReader, ChecksumsAreCutOffZstdFramesToo) {
  Fixture fixture(
      Array("[6]", "[6]", R"({"name": "bytes"}, {"name": "zstd"}, {"name": "crc32c"})"));
  fixture.store->Put("a/c/0", kUnsized + "!!!!");
  ChunkEncoding encoding = Zstd(6);
  encoding.cut_back = 4;
  EXPECT_EQ(fixture.Text(0, encoding), Raw("28b52ffd 8058 06000000 310000 7a6172726673"));
}

TEST(ChunkReader, OnlyFramesThatAreKnownNeedNoReadForTheirSize) {
  Fixture fixture(Array("[6]", "[6]", kZstd));
  fixture.store->Put("a/c/0", kSized);
  const auto locate = [&] { return *fixture.source->Locate(InnerIndex{0}, kAnyAge)->location; };
  EXPECT_TRUE(ChunkReader::KnowsSize(ChunkEncoding{}, locate()));
  EXPECT_FALSE(ChunkReader::KnowsSize(Zstd(6), locate()));
  EXPECT_EQ(fixture.Text(0, Zstd(6)), kSized);
  EXPECT_TRUE(ChunkReader::KnowsSize(Zstd(6), locate()));
}

TEST(ChunkReader, BlocksOfAFrameAreWalkedThroughOnce) {
  Fixture fixture(Array("[12]", "[6]", kZstd));
  fixture.store->Put("a/c/0", Raw("28b52ffd 0058 100000 7a61 100000 7272 110000 6673"));
  fixture.store->Put("a/c/1", kSkippable + kUnsized);
  const ChunkEncoding encoding = Zstd(6);
  const std::string patched = Raw("28b52ffd 8058 06000000 100000 7a61 100000 7272 110000 6673");
  EXPECT_EQ(fixture.Text(0, encoding), patched);
  EXPECT_EQ(fixture.Text(1, encoding), kSized);
  const auto reads = [&](uint64_t chunk, uint64_t offset) {
    const auto location = *fixture.source->Locate(InnerIndex{chunk}, kAnyAge)->location;
    const ChunkFile file{*fixture.source, encoding, 0, InnerIndex{chunk}, location};
    fixture.store->ResetCounts();
    EXPECT_TRUE(fixture.served.Size(file));
    Bytes buffer(4);
    EXPECT_EQ(fixture.served.Read(file, offset, buffer)->bytes.size(), 4U);
    return fixture.store->total_count();
  };
  EXPECT_EQ(reads(0, 12), 1U) << "the bytes";
  EXPECT_EQ(reads(0, 0), 2U) << "and the header";
  EXPECT_EQ(reads(1, 0), 0U) << "encoded again, and kept";
}

TEST(ChunkReader, CacheHoldsNoMoreMemoryThanItsBudget) {
  constexpr uint64_t kChunkSize = 4 << 20;
  constexpr uint64_t kChunks = 8;
  Fixture fixture(
      Array(fmt::format("[{}]", kChunkSize * kChunks), fmt::format("[{}]", kChunkSize), kZstd));
  const auto codec = MakeZstdCodec(CodecSpec{"zstd"});
  const Bytes encoded = *(*codec)->Encode(Bytes(kChunkSize));
  for (uint64_t i = 0; i < kChunks; ++i) {
    fixture.store->Put(
        fmt::format("a/c/{}", i),
        kSkippable + std::string(reinterpret_cast<const char*>(encoded.data()), encoded.size()));
  }
  const size_t before = LiveBytes();
  // Encoded again, a chunk has some hundred bytes, and the encoder has room for 4 MiB.
  for (uint64_t i = 0; i < kChunks; ++i) {
    EXPECT_LT(fixture.Text(i, Zstd(kChunkSize), 4096).size(), 4096U);
  }
  EXPECT_EQ(fixture.served.statistics().entries, kChunks);
  EXPECT_LT(LiveBytes() - before, 1U << 20);
  // Decoded, each is larger than the whole cache.
  for (uint64_t i = 0; i < kChunks; ++i) {
    EXPECT_EQ(fixture.Text(i, Elements(kChunkSize), kChunkSize, 1).size(), kChunkSize);
  }
  EXPECT_EQ(fixture.served.statistics().entries, kChunks);
  fixture.served.Sweep();
  fixture.served.Sweep();
  EXPECT_LT(LiveBytes() - before, 1U << 20);
}

std::string Encoded(const Bytes& elements) {
  const auto codec = MakeZstdCodec(CodecSpec{"zstd"});
  const Bytes encoded = *(*codec)->Encode(elements);
  return {reinterpret_cast<const char*>(encoded.data()), encoded.size()};
}

TEST(ChunkReader, AChunkLargerThanTheCacheIsDecodedOnceWhileItIsRead) {
  constexpr uint64_t kChunkSize = 4 << 20;
  Fixture fixture(Array("[8388608]", "[4194304]", kZstd));
  fixture.store->Put("a/c/0", Encoded(Bytes(kChunkSize)));
  fixture.store->Put("a/c/1", Encoded(Bytes(kChunkSize)));
  const auto reads = [&](uint64_t chunk) {
    const uint64_t before = fixture.store->count(FakeStore::Call::kObjectRead);
    EXPECT_EQ(fixture.Text(chunk, Elements(kChunkSize), 128 << 10).size(), kChunkSize);
    return fixture.store->count(FakeStore::Call::kObjectRead) - before;
  };
  EXPECT_EQ(reads(0), 1U) << "in 32 pieces";
  EXPECT_EQ(reads(0), 0U);
  fixture.served.Sweep();
  EXPECT_EQ(reads(0), 0U) << "it was read since the sweep before";
  EXPECT_EQ(reads(1), 1U);
  EXPECT_EQ(reads(0), 1U) << "only the latest is kept";
  fixture.served.Sweep();
  fixture.served.Sweep();
  EXPECT_EQ(reads(0), 1U) << "nobody had read it";
  fixture.served.Evict(1);
  EXPECT_EQ(reads(0), 1U) << "memory was short";
}

// Sets the budget of the process while it lives.
class LimitedMemory {
 public:
  explicit LimitedMemory(uint64_t bytes) { ProcessMemory().SetLimit(bytes); }
  ~LimitedMemory() { ProcessMemory().SetLimit(UINT64_MAX); }
  LimitedMemory(const LimitedMemory&) = delete;
  LimitedMemory& operator=(const LimitedMemory&) = delete;
};

TEST(ChunkReader, MemoryIsTakenBeforeAChunkIsRead) {
  constexpr uint64_t kChunkSize = 64 << 20;
  Fixture fixture(Array("[67108864]", "[67108864]", kZstd));
  fixture.store->Put("a/c/0", Encoded(Bytes(kChunkSize)));
  const LimitedMemory limit(32 << 20);
  const std::string text = fixture.Text(0, Elements(kChunkSize), 4096);
  EXPECT_TRUE(Contains(text, "a/c/0: needs") && Contains(text, "memory=")) << text;
  EXPECT_EQ(fixture.store->count(FakeStore::Call::kObjectRead), 0U);
  EXPECT_EQ(fixture.reports.size(), 0U) << "nothing is wrong with the chunk";
}

std::string Gzip(const std::string& text) {
  const auto codec = MakeGzipCodec(CodecSpec{"gzip"});
  const Bytes encoded = *(*codec)->Encode(std::as_bytes(std::span(text)));
  return {reinterpret_cast<const char*>(encoded.data()), encoded.size()};
}

// A shard that may hold 64 MiB is decoded in less where it holds little, and in all that it needs
// where that is hundreds of times what is stored.
TEST(ChunkReader, AShardCompressedAsAWholeTakesLittleMemoryUnlessItNeedsMore) {
  constexpr uint64_t kChunkSize = 64 << 10;
  Fixture fixture(Array("[134217728]", "[67108864]",
                        fmt::format("{}, {}", Sharding("[65536]", kBytesCodec), kGzipCodec)));
  Chunks chunks(1024);
  const std::string first(kChunkSize, 'x');
  chunks[0] = first;
  fixture.store->Put("a/c/0", Gzip(ShardBytes(chunks)));
  const std::string all(kChunkSize, 'y');
  std::ranges::fill(chunks, all);
  fixture.store->Put("a/c/1", Gzip(ShardBytes(chunks)));
  EXPECT_EQ(fixture.Text(2047, {}, kChunkSize), all);
  const LimitedMemory limit(32 << 20);
  EXPECT_EQ(fixture.Text(0, {}, kChunkSize), first);
  const std::string text = fixture.Text(1500, {}, kChunkSize);
  EXPECT_TRUE(Contains(text, "a/c/1: needs") && Contains(text, "memory=")) << text.substr(0, 200);
}

TEST(ChunkReader, CachedBytesAreTakenFromTheBudget) {
  const uint64_t before = ProcessMemory().used();
  {
    Fixture fixture(Array("[6]", "[6]", kZstd));
    fixture.store->Put("a/c/0", kUnsized);
    EXPECT_EQ(fixture.Text(0, Elements(6)), "zarrfs");
    EXPECT_GT(ProcessMemory().used(), before);
    EXPECT_LT(ProcessMemory().used(), before + 4096) << "what decoding took is given back";
  }
  EXPECT_EQ(ProcessMemory().used(), before);
}

TEST(ChunkReader, FramesOfAnotherSizeThanTheChunkAreDamaged) {
  Fixture fixture(Array("[24]", "[12]", kZstd));
  fixture.store->Put("a/c/0", kSized);
  fixture.store->Put("a/c/1", kSized + kSized);
  EXPECT_TRUE(Contains(fixture.Text(0, Zstd(12)), "a/c/0")) << fixture.Text(0, Zstd(12));
  EXPECT_EQ(fixture.Text(1, Zstd(12)).substr(0, 4), kSized.substr(0, 4)) << "two frames in one";
}

TEST(ChunkReader, ElementsAreDecodedOnce) {
  Fixture fixture(Array("[6]", "[6]", kZstd));
  fixture.store->Put("a/c/0", kUnsized);
  for (const size_t step : {1, 5, 64}) EXPECT_EQ(fixture.Text(0, Elements(6), step), "zarrfs");
  EXPECT_EQ(fixture.served.statistics().misses, 1U);
}

TEST(ChunkReader, ElementsBeyondTheArrayAreLeftOut) {
  Fixture fixture(Array("[2, 3]", "[3, 4]", R"({"name": "bytes"})"));
  fixture.store->Put("a/c/0/0", "abcdefghijkl");
  ChunkEncoding encoding = Elements(6);
  encoding.extent = {2, 3};
  EXPECT_EQ(fixture.Text(0, encoding), "abcefg");
}

TEST(ChunkReader, FormsOfOneChunkAreKeptApart) {
  Fixture fixture(Array("[4]", "[4]", R"({"name": "bytes"})", R"({"data_type": "int4"})"));
  fixture.store->Put("a/c/0", "\x0f\x01\x08\x07");
  ChunkEncoding wide = Elements(4);
  wide.is_wide = true;
  EXPECT_EQ(fixture.Text(0, Elements(4), 64, 0), "\x0f\x01\x08\x07");
  EXPECT_EQ(fixture.Text(0, wide, 64, 1), "\xff\x01\xf8\x07");
}

std::string FillText(const ArrayMetadata& metadata, const ChunkEncoding& encoding,
                     size_t step = 64) {
  const FillChunk chunk(metadata, LayoutOf(metadata), encoding);
  const auto size = chunk.Size();
  if (!size) return size.error().message;
  std::string text;
  for (;;) {
    Bytes buffer(step);
    const auto length = chunk.Read(text.size(), buffer);
    if (!length || *length == 0) break;
    text.append(reinterpret_cast<const char*>(buffer.data()), *length);
  }
  EXPECT_EQ(text.size(), *size);
  return text;
}

TEST(FillChunk, IsEncodedAsTheStoredChunksAre) {
  const auto big = Array("[4]", "[2]", R"({"name": "bytes", "configuration": {"endian": "big"}})",
                         R"({"data_type": "int16", "fill_value": 258})");
  EXPECT_EQ(FillText(big, ChunkEncoding{}), "\x01\x02\x01\x02");
  const auto packed = Array("[4]", "[6]", kZstd, R"({"fill_value": 7})");
  ChunkEncoding encoding;
  encoding.kind = Kind::kPatchedZstd;
  encoding.size = 6;
  const std::string encoded = FillText(packed, encoding);
  Fixture fixture(packed);
  fixture.store->Put("a/c/0", encoded);
  EXPECT_EQ(fixture.Text(0, Elements(6)), std::string(6, '\7'));
}

TEST(FillChunk, OmitsTheChecksum) {
  const auto array =
      Array("[4]", "[2]", R"({"name": "bytes"}, {"name": "crc32c"})", R"({"fill_value": 65})");
  ChunkEncoding encoding;
  encoding.cut_back = 4;
  EXPECT_EQ(FillText(array, encoding), "AA");
}

TEST(FillChunk, OfElementsHoldsOnlyElements) {
  const auto array = Array("[3]", "[1000]", kZstd, R"({"data_type": "float16", "fill_value": 1})");
  ChunkEncoding encoding = Elements(12);
  encoding.is_wide = true;
  encoding.extent = {3};
  for (const size_t step : {1, 5, 64}) {
    EXPECT_EQ(FillText(array, encoding, step), Raw("0000803f 0000803f 0000803f"));
  }
}

TEST(FillChunk, OfTextsHasEachWithItsLength) {
  const auto array = Array("[4]", "[2]", R"({"name": "vlen-utf8"})",
                           R"({"data_type": "string", "fill_value": "ab"})");
  EXPECT_EQ(FillText(array, ChunkEncoding{}), Raw("02000000 02000000 6162 02000000 6162"));
}

TEST(FillChunk, IsNotRounded) {
  const auto array = Array("[4]", "[1]",
                           R"({"name": "bitround", "configuration": {"keepbits": 1}},
                              {"name": "bytes", "configuration": {"endian": "little"}})",
                           R"({"data_type": "float32", "fill_value": 1.2})");
  EXPECT_EQ(FillText(array, ChunkEncoding{}), Raw("9a99993f"));
}

TEST(FillChunk, LargerThanCanBeEncodedIsRefused) {
  const auto array = Array("[4]", "[10000000000]", kZstd);
  EXPECT_TRUE(Contains(FillText(array, ChunkEncoding{}), "larger than"));
  EXPECT_FALSE(FillChunk::CanBeMade(array, LayoutOf(array)));
  const auto plain = Array("[4]", "[10000000000]", R"({"name": "bytes"})");
  EXPECT_TRUE(FillChunk::CanBeMade(plain, LayoutOf(plain))) << "nothing is kept of it";
  EXPECT_EQ(FillChunk(plain, LayoutOf(plain), ChunkEncoding{}).Size(), 10000000000U);
  const auto only_decoded = Array(
      "[4]", "[2]",
      R"({"name": "bytes"}, {"name": "numcodecs.lzma", "configuration": {"format": 3, "filters": [{"id": 33}]}})");
  EXPECT_FALSE(FillChunk::CanBeMade(only_decoded, LayoutOf(only_decoded)));
}

}  // namespace
}  // namespace zarrfs::chunk_reader_test
