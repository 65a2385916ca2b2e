#include "zarrcore/array/chunk_source.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/array/chunk_cursor.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/store/gated_store.h"

namespace zarrfs::chunk_source_test {
namespace {

using Call = FakeStore::Call;
using Coordinates = std::vector<uint64_t>;
using std::chrono::hours;

constexpr Age kNow{0};
constexpr std::string_view kGzip2 =
    R"({"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}})";

/// An array "a" in a store of its own.
struct Fixture {
  explicit Fixture(const ArrayMetadata& metadata, bool gated = false) {
    if (gated) store->SetAnswersFast(false);
    auto made = ChunkSource::Make(Gate(store), "a", metadata, cache,
                                  [this](const Error& error) { reports.push_back(error.message); });
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    source = std::move(*made);
  }

  [[nodiscard]] Result<std::optional<ChunkLocation>> Locate(uint64_t chunk,
                                                            Age age = kAnyAge) const {
    auto located = source->Locate(InnerIndex{chunk}, age);
    if (!located) return Fail(located);
    return std::move(located->location);
  }
  /// The bytes of a chunk; "-" if it is missing; the name of the error if it cannot be read.
  [[nodiscard]] std::string Text(uint64_t chunk, Age age = kAnyAge) const {
    const auto place = Locate(chunk, age);
    if (!place) return std::string(ToString(place.error().code));
    if (!*place) return "-";
    return TextOf(**place);
  }
  [[nodiscard]] static std::string TextOf(const ChunkLocation& place) {
    std::string bytes(place.length, '?');
    const auto read =
        place.shard->object->Read(place.offset, std::as_writable_bytes(std::span(bytes)));
    return read ? bytes : std::string(ToString(read.error().code));
  }
  [[nodiscard]] std::vector<uint64_t> Visited(uint64_t outer, const Coordinates& prefix = {},
                                              uint64_t from = 0) const {
    std::vector<uint64_t> chunks;
    ChunkCursor cursor(*source, OuterIndex{outer}, {.prefix = prefix, .from = Slot{from}});
    while (const ListedChunk* next = cursor.Next()) chunks.push_back(ToNumber(next->chunk));
    EXPECT_TRUE(cursor.status());
    return chunks;
  }
  /// The numbers of the stored objects; 2^64 - 1 if they cannot be listed.
  [[nodiscard]] std::vector<uint64_t> Outers(const Coordinates& prefix = {}) const {
    const auto outers = source->ListOuter(prefix);
    if (!outers) return {~uint64_t{0}};
    std::vector<uint64_t> numbers;
    for (const OuterIndex outer : *outers) numbers.push_back(ToNumber(outer));
    return numbers;
  }
  [[nodiscard]] bool Any(const Coordinates& prefix = {}, Age age = kNow) const {
    const auto any = source->AnyChunk(prefix, age);
    EXPECT_TRUE(any);
    return any && any->value;
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::shared_ptr<IndexCache> cache = std::make_shared<IndexCache>(store, 64u << 20);
  std::vector<std::string> reports;
  std::shared_ptr<ChunkSource> source;
};

/// Shape [4], in two shards of two gzip chunks each, with the keys a/c/0 and a/c/1.
ArrayMetadata TwoShards() { return Array("[4]", "[2]", Sharding("[1]", kGzip2)); }

std::string Encoding(std::string_view name, std::string_view separator) {
  return fmt::format(
      R"({{"chunk_key_encoding": {{"name": "{}", "configuration": {{"separator": "{}"}}}}}})", name,
      separator);
}

/// Shape [3, 2], with an unsharded chunk for each element, and no separator in the metadata.
ArrayMetadata WithoutSeparator() {
  ArrayMetadata array = Array("[3, 2]", "[1, 1]", kGzip2, Encoding("v2", "."));
  array.key_encoding.is_undecided = true;
  return array;
}

TEST(ChunkSource, AnUndecidedSeparatorIsDecidedByTheFirstObjectThatIsFound) {
  for (const bool is_nested : {false, true}) {
    const auto key = [&](int i, int j) {
      return fmt::format("a/{}{}{}", i, is_nested ? '/' : '.', j);
    };
    const Fixture fixture(WithoutSeparator());
    EXPECT_EQ(fixture.Text(0), "-");
    EXPECT_FALSE(fixture.source->has_decided_naming());
    fixture.store->Put(key(1, 1), "found");
    EXPECT_TRUE(fixture.source->ObjectOfKey(key(1, 1)));
    EXPECT_EQ(fixture.Text(3, kNow), "found");
    EXPECT_TRUE(fixture.source->has_decided_naming());
    EXPECT_EQ(fixture.source->ObjectKey(OuterIndex{0}), key(0, 0));
    fixture.store->Put(is_nested ? "a/2.0" : "a/2/0", "of the other form");
    EXPECT_EQ(fixture.Text(4, kNow), "-");
  }
}

TEST(ChunkSource, AnUndecidedSeparatorIsDecidedByAListing) {
  for (const std::string key : {"a/2.1", "a/2/1"}) {
    const Fixture fixture(WithoutSeparator());
    EXPECT_EQ(fixture.Outers(), Coordinates{});
    EXPECT_FALSE(fixture.Any());
    fixture.store->PutFolder("a/0");
    fixture.store->Put(key, "found");
    EXPECT_EQ(fixture.Outers({2}), Coordinates{5});
    EXPECT_TRUE(fixture.Any());
    EXPECT_EQ(fixture.source->ObjectKey(OuterIndex{5}), key);
  }
}

TEST(ChunkSource, AnUndecidedChunkIsAbsentOnlyIfNeitherKeyExists) {
  for (const std::string key : {"a/0.0", "a/0/0"}) {
    const Fixture fixture(WithoutSeparator());
    fixture.store->FailWith(Call::kStat, key, {ErrorCode::kIo, "cable pulled"});
    fixture.store->FailWith(Call::kRead, key, {ErrorCode::kIo, "cable pulled"});
    EXPECT_EQ(fixture.Text(0), ToString(ErrorCode::kIo));
    EXPECT_EQ(fixture.source->Locate(InnerIndex{0}, kNow, /*may_read=*/false).error().code,
              ErrorCode::kIo);
    EXPECT_FALSE(fixture.source->has_decided_naming());
  }
  const Fixture fixture(WithoutSeparator());
  fixture.store->PutFolder("a/2");
  fixture.store->FailWith(Call::kList, "a/2", {ErrorCode::kPermissionDenied, "locked"});
  EXPECT_EQ(fixture.source->ListOuter({}).error().code, ErrorCode::kPermissionDenied);
}

TEST(ChunkSource, EveryKeyEncodingIsFound) {
  const struct {
    std::string_view name, separator, key;
  } cases[] = {{"default", "/", "a/c/1/0"},
               {"default", ".", "a/c.1.0"},
               {"v2", "/", "a/1/0"},
               {"v2", ".", "a/1.0"}};
  for (const auto& [name, separator, key] : cases) {
    const Fixture fixture(
        Array("[4, 2]", "[2, 2]", Sharding("[1, 1]", kGzip2), Encoding(name, separator)));
    fixture.store->Put(key, ShardBytes({"one", std::nullopt, "two", "three"}));
    EXPECT_EQ(fixture.source->ObjectKey(OuterIndex{1}), key);
    EXPECT_EQ(fixture.source->ObjectOfKey(key), OuterIndex{1}) << key;
    for (const std::string_view other :
         {"a", "a/zarr.json", "b/c/1/0", "a/c/1/00", "a/c/1/0/0", "a/c/2/0", "a/x", ""}) {
      EXPECT_EQ(fixture.source->ObjectOfKey(other), std::nullopt) << other;
    }
    EXPECT_EQ(fixture.Outers(), std::vector<uint64_t>{1}) << key;
    EXPECT_EQ(fixture.Text(4), "one");
    EXPECT_EQ(fixture.Text(5), "-");
    EXPECT_EQ(fixture.Text(6), "two");
    EXPECT_EQ(fixture.Text(7), "three");
    EXPECT_EQ(fixture.Text(0), "-");
    EXPECT_EQ(fixture.source->OuterOf(InnerIndex{6}), OuterIndex{1});
    EXPECT_EQ(fixture.source->NextCoordinates({}, kNow), (Coordinates{2, 3})) << key;
  }
}

// The index has 3.2 MB, several times as much as is read at once.
TEST(ChunkSource, LargeIndexIsReadInPieces) {
  constexpr size_t kCount = 200'000;
  Chunks chunks(kCount);
  for (size_t i = 0; i < kCount; i += 7) chunks[i] = fmt::format("{}", i);
  for (const bool at_end : {true, false}) {
    const Fixture fixture(
        Array("[200000]", "[200000]",
              Sharding("[1]", kGzip2,
                       at_end ? R"("index_location": "end")" : R"("index_location": "start")")));
    std::string bytes = ShardBytes(chunks, at_end);
    fixture.store->Put("a/c/0", bytes);
    for (const size_t i : {size_t{0}, size_t{7 * 9362}, size_t{7 * 9363}, size_t{7 * 28571}}) {
      EXPECT_EQ(fixture.Text(i), fmt::format("{}", i)) << at_end;
      EXPECT_EQ(fixture.Text(i + 1), "-") << at_end;
    }
    const size_t index = at_end ? bytes.size() - 16 * kCount - 4 : 0;
    bytes[index + 16 * kCount / 2] ^= 1;
    fixture.store->Put("a/c/0", bytes);
    EXPECT_EQ(fixture.Text(0, kNow), ToString(ErrorCode::kDamaged)) << at_end;
  }
}

TEST(ChunkSource, RankZeroHasAKeyOfItsOwn) {
  const struct { std::string_view name, key; } cases[] = {{"default", "a/c"}, {"v2", "a/0"}};
  for (const auto& [name, key] : cases) {
    const Fixture fixture(Array("[]", "[]", Sharding("[]", kGzip2), Encoding(name, "/")));
    EXPECT_EQ(fixture.Outers(), std::vector<uint64_t>{});
    EXPECT_FALSE(fixture.Any());
    fixture.store->Put(key, ShardBytes({"only"}));
    EXPECT_EQ(fixture.Outers(), std::vector<uint64_t>{0});
    EXPECT_EQ(fixture.Visited(0), std::vector<uint64_t>{0});
    EXPECT_EQ(fixture.Text(0), "only");
    EXPECT_TRUE(fixture.Any());
    EXPECT_EQ(fixture.source->NextCoordinates({}, kNow), Coordinates{});
  }
}

TEST(ChunkSource, UnshardedChunksAreWholeObjects) {
  const Fixture fixture(Array("[4]", "[2]", kGzip2));
  fixture.store->Put("a/c/1", "plain");
  EXPECT_EQ(fixture.Text(0), "-");
  EXPECT_EQ(fixture.Text(1), "plain");
  EXPECT_EQ(fixture.Visited(0), std::vector<uint64_t>{});
  EXPECT_EQ(fixture.Visited(1), std::vector<uint64_t>{1});
}

TEST(ChunkSource, LookingAtAnUnshardedChunkDoesNotOpenIt) {
  const Fixture fixture(Array("[4]", "[2]", kGzip2));
  fixture.store->Put("a/c/1", "plain");
  const auto located = fixture.source->Locate(InnerIndex{1}, kNow, /*may_read=*/false);
  ASSERT_TRUE(located && located->location);
  EXPECT_EQ(located->location->length, 5U);
  EXPECT_EQ(fixture.store->count(Call::kRead), 0U);
  EXPECT_EQ(fixture.store->count(Call::kStat), 1U);
}

TEST(ChunkSource, AFolderInThePlaceOfAChunkIsNone) {
  const Fixture plain(Array("[4]", "[2]", kGzip2));
  plain.store->PutFolder("a/c/1");
  EXPECT_EQ(plain.Text(1), "-");
  const auto looked_at = plain.source->Locate(InnerIndex{1}, kNow, /*may_read=*/false);
  ASSERT_TRUE(looked_at);
  EXPECT_FALSE(looked_at->location);
  const Fixture sharded(TwoShards());
  sharded.store->PutFolder("a/c/1");
  EXPECT_EQ(sharded.Text(2), "-");
  EXPECT_EQ(sharded.Outers(), std::vector<uint64_t>{});
}

// --- Damage
// -----------------------------------------------------------------------------------------

TEST(ChunkSource, ABrokenIndexIsDamageOfEveryChunkToldOnce) {
  std::string bad_checksum = ShardBytes({"ab", "cd"});
  bad_checksum.back() ^= 1;
  const struct {
    std::string bytes, reason;
  } cases[] = {{"", "a/c/0: the shard has 0 bytes, fewer than its index of 36"},
               {"short", "a/c/0: the shard has 5 bytes, fewer than its index of 36"},
               {bad_checksum, "a/c/0: shard index: crc32c checksum 0x"}};
  for (const auto& [bytes, reason] : cases) {
    const Fixture fixture(TwoShards());
    fixture.store->Put("a/c/0", bytes);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(fixture.Text(static_cast<uint64_t>(i) % 2), "damaged");
    EXPECT_EQ(fixture.Visited(0), (std::vector<uint64_t>{0, 1}));
    EXPECT_TRUE(fixture.Any({}, kAnyAge));
    ASSERT_EQ(fixture.reports.size(), 1U);
    EXPECT_TRUE(fixture.reports[0].starts_with(reason)) << fixture.reports[0];
    EXPECT_EQ(fixture.store->count(Call::kRead), 1U) << "damage is remembered";
  }
}

TEST(ChunkSource, DamageLastsAsLongAsTheVersion) {
  const Fixture fixture(TwoShards());
  fixture.store->Put("a/c/0", "short");
  EXPECT_EQ(fixture.Text(0, kNow), "damaged");
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  EXPECT_EQ(fixture.Text(0, kNow), "ab");
  EXPECT_EQ(fixture.reports.size(), 1U);
}

TEST(ChunkSource, ADamagedEntryHarmsNoOtherChunk) {
  const Fixture fixture(TwoShards());
  fixture.store->Put("a/c/0", "xy" + IndexBytes({{0, 0}, {0, 2}}));
  EXPECT_EQ(fixture.Text(0), "damaged");
  EXPECT_EQ(fixture.Text(1), "xy");
  EXPECT_EQ(fixture.Visited(0), (std::vector<uint64_t>{0, 1}));
  ASSERT_EQ(fixture.reports.size(), 1U);
  EXPECT_EQ(fixture.reports[0], "a/c/0: shard index entry 0 has no bytes (offset 0)");
}

TEST(ChunkSource, RawChunksMustHaveTheirSize) {
  const Fixture sharded(Array("[4]", "[4]", Sharding("[2]", kBytesCodec)));
  sharded.store->Put("a/c/0", ShardBytes({"ab", "abc"}));
  EXPECT_EQ(sharded.Text(0), "ab");
  EXPECT_EQ(sharded.Locate(1).error().message,
            "a/c/0: shard index entry 1: the chunk has 3 bytes, expected 2");
  const Fixture plain(Array("[6]", "[2]", kBytesCodec));
  plain.store->Put("a/c/0", "ab");
  plain.store->Put("a/c/1", "a");
  plain.store->Put("a/c/2", "");
  EXPECT_EQ(plain.Text(0), "ab");
  EXPECT_EQ(plain.Locate(1).error().message, "a/c/1: the chunk has 1 bytes, expected 2");
  EXPECT_EQ(plain.Text(2), "damaged");
}

TEST(ChunkSource, AnImpossibleSizeIsToldAndGivenToWhoTakesAny) {
  const Fixture plain(Array("[4]", "[2]", kBytesCodec));
  plain.store->Put("a/c/0", "a");
  plain.store->Put("a/c/1", "");
  for (const InnerIndex chunk : {InnerIndex{0}, InnerIndex{1}}) {
    const auto located = plain.source->Locate(chunk, kAnyAge, /*may_read=*/true, Sizes::kAny);
    ASSERT_TRUE(located && located->location);
    EXPECT_EQ(located->location->length, 1U - ToNumber(chunk));
    EXPECT_TRUE(plain.source->LocateIn(located->location->shard, chunk, Sizes::kAny));
    EXPECT_FALSE(plain.source->LocateIn(located->location->shard, chunk));
  }
  EXPECT_EQ(plain.reports.size(), 2U);
}

TEST(ChunkSource, NoCompressorMakesAnEmptyChunk) {
  const Fixture plain(Array("[2]", "[2]", kGzip2));
  plain.store->Put("a/c/0", "");
  EXPECT_EQ(plain.Text(0), "damaged");
  EXPECT_EQ(plain.Visited(0), std::vector<uint64_t>{0});
}

TEST(ChunkSource, DamageThatIsOnlyLookedAtIsNotToldAgainAndAgain) {
  const Fixture plain(Array("[2]", "[2]", kBytesCodec));
  plain.store->Put("a/c/0", "a");
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(plain.source->Locate(InnerIndex{0}, kNow, /*may_read=*/false));
  EXPECT_EQ(plain.reports.size(), 0U);
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(plain.source->Locate(InnerIndex{0}, kNow, /*may_read=*/true));
  EXPECT_EQ(plain.reports.size(), 1U);
}

TEST(ChunkSource, IndexAtTheStart) {
  const Fixture fixture(
      Array("[2]", "[2]", Sharding("[1]", kGzip2, R"("index_location": "start")")));
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cde"}, /*at_end=*/false));
  EXPECT_EQ(fixture.Text(0), "ab");
  EXPECT_EQ(fixture.Text(1), "cde");
}

TEST(ChunkSource, AChecksumBehindTheShardIsSkipped) {
  for (const bool at_end : {true, false}) {
    const Fixture fixture(
        Array("[2]", "[2]",
              Sharding("[1]", kGzip2,
                       at_end ? R"("index_location": "end")" : R"("index_location": "start")") +
                  R"(, {"name": "crc32c"})"));
    fixture.store->Put("a/c/0", WithCrc32c(ShardBytes({"ab", "cde"}, at_end)));
    EXPECT_EQ(fixture.Text(0), "ab");
    EXPECT_EQ(fixture.Text(1), "cde");
    // A chunk must not extend into the checksum.
    fixture.store->Put("a/c/0", "ab" + IndexBytes({{0, 2}, {0, 39}}) + "sum!");
    if (at_end) {
      EXPECT_EQ(fixture.Text(1, kNow), "damaged");
    }
  }
}

TEST(ChunkSource, AnIndexLongerThanTheFirstReadIsReadWhole) {
  constexpr uint64_t kChunks = 100'000;  // 1.6 MB of index
  for (const bool at_end : {true, false}) {
    const Fixture fixture(
        Array("[100000]", "[100000]",
              Sharding("[1]", kGzip2,
                       at_end ? R"("index_location": "end")" : R"("index_location": "start")")));
    Chunks chunks(kChunks);
    chunks.front() = "first";
    chunks.back() = "last";
    fixture.store->Put("a/c/0", ShardBytes(chunks, at_end));
    EXPECT_EQ(fixture.Text(0), "first");
    EXPECT_EQ(fixture.Text(kChunks - 1), "last");
    EXPECT_EQ(fixture.Visited(0), (std::vector<uint64_t>{0, kChunks - 1}));
    fixture.store->Put("a/c/0", "short");
    EXPECT_EQ(fixture.Text(0, kNow), "damaged");
  }
}

// --- Nested shards
// ----------------------------------------------------------------------------------

ArrayMetadata Nested() { return Array("[8]", "[8]", Sharding("[4]", Sharding("[2]", kGzip2))); }

TEST(ChunkSource, NestedShardsAreDamagedEachForItself) {
  const Fixture fixture(Nested());
  fixture.store->Put("a/c/0", ShardBytes({"not a shard", ShardBytes({"x", "yz"})}));
  EXPECT_EQ(fixture.Text(0), "damaged");
  EXPECT_EQ(fixture.Text(1), "damaged");
  EXPECT_EQ(fixture.Text(2), "x");
  EXPECT_EQ(fixture.Text(3), "yz");
  ASSERT_EQ(fixture.reports.size(), 1U);
  EXPECT_EQ(fixture.reports[0], "a/c/0: a nested shard has 11 bytes, fewer than its index of 36");
}

TEST(ChunkSource, ANestedEntryMustStayInItsShard) {
  const Fixture fixture(Nested());
  const std::string reaches_out = "x" + IndexBytes({{0, 38}, {0, 37}});
  fixture.store->Put("a/c/0", ShardBytes({reaches_out, ShardBytes({"x", "yz"})}));
  EXPECT_EQ(fixture.Text(0), "damaged");
  EXPECT_EQ(fixture.Text(1), reaches_out);
}

TEST(ChunkSource, AShardReplacedBetweenTwoNestedIndexesIsReadAnew) {
  for (const bool in_place : {false, true}) {
    const Fixture fixture(Nested());
    fixture.store->SetReplacedIsStale(true);
    fixture.store->Put("a/c/0", ShardBytes({ShardBytes({"a", "b"}), ShardBytes({"c", "d"})}));
    EXPECT_EQ(fixture.Text(0), "a");
    const std::string newer = ShardBytes({ShardBytes({"AA", "BB"}), ShardBytes({"CC", "DD"})});
    in_place ? fixture.store->RewriteInPlace("a/c/0", newer) : fixture.store->Put("a/c/0", newer);
    EXPECT_EQ(fixture.Text(2), "CC");
    EXPECT_EQ(fixture.Text(0), "AA");
    EXPECT_EQ(fixture.Visited(0), (std::vector<uint64_t>{0, 1, 2, 3}));
  }
}

TEST(ChunkSource, AListingGoesOnInTheNewVersionOfAShardReplacedMeanwhile) {
  const Fixture fixture(Nested());
  fixture.store->SetReplacedIsStale(true);
  fixture.store->Put("a/c/0", ShardBytes({ShardBytes({"a", "b"}), ShardBytes({"c", "d"})}));
  std::string seen;
  ChunkCursor cursor(*fixture.source, OuterIndex{0});
  while (const ListedChunk* next = cursor.Next()) {
    seen += next->location ? Fixture::TextOf(*next->location) + " " : "error ";
    if (next->slot == Slot{1}) {
      fixture.store->Put("a/c/0",
                         ShardBytes({ShardBytes({"AA", "BB"}), ShardBytes({std::nullopt, "DD"})}));
    }
  }
  EXPECT_TRUE(cursor.status());
  EXPECT_EQ(seen, "a b DD ");
}

TEST(ChunkSource, MissingNestedShardsCostNothingToList) {
  // 2^26 slots, but only one nested shard is present.
  const Fixture fixture(
      Array("[67108864]", "[67108864]", Sharding("[8192]", Sharding("[1]", kGzip2))));
  Chunks nested(8192);
  nested[8191] = "here";
  Chunks outer(8192);
  outer[5000] = ShardBytes(nested);
  fixture.store->Put("a/c/0", ShardBytes(outer));
  EXPECT_EQ(fixture.Visited(0), std::vector<uint64_t>{5000ULL * 8192 + 8191});
}

TEST(ChunkSource, PlacesOutsideTheArrayCostNothingToList) {
  // 2^26 slots, two of them inside the array.
  const Fixture fixture(
      Array("[2, 1]", "[8192, 8192]", Sharding("[128, 128]", Sharding("[1, 1]", kGzip2))));
  Chunks nested(16384, "out");
  nested[0] = std::nullopt;
  nested[128] = "in";
  Chunks outer(4096, "no shard");
  outer[0] = ShardBytes(nested);
  fixture.store->Put("a/c/0/0", ShardBytes(outer));
  EXPECT_EQ(fixture.Visited(0), std::vector<uint64_t>{1});
}

// --- Freshness
// ----------------------------------------------------------------------------------------

TEST(ChunkSource, AReplacedShardIsSeenAfterMaxAgeAndNotBefore) {
  const Fixture fixture(TwoShards());
  fixture.store->Put("a/c/0", ShardBytes({"old", "o"}));
  EXPECT_EQ(fixture.Text(0), "old");
  fixture.store->ResetCounts();
  fixture.store->Put("a/c/0", ShardBytes({"newer", "n"}));
  const auto before = fixture.Locate(0, hours(1));
  EXPECT_EQ(fixture.store->total_count(), 0U);
  EXPECT_EQ(Fixture::TextOf(**before), "old") << "the old version is read on";
  EXPECT_EQ(fixture.Text(0, kNow), "newer");
  EXPECT_EQ(fixture.Text(0, kAnyAge), "newer");
  fixture.store->Remove("a/c/0");
  EXPECT_EQ(fixture.Text(0, hours(1)), "newer");
  EXPECT_EQ(fixture.Text(0, kNow), "-");
  EXPECT_EQ(fixture.Text(0, hours(1)), "-");
}

TEST(ChunkSource, AnUnchangedShardIsNotReadAgain) {
  const Fixture fixture(TwoShards());
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  const auto first = fixture.Locate(0, kNow);
  const auto second = fixture.Locate(1, kNow);
  EXPECT_EQ((*first)->shard, (*second)->shard);
  EXPECT_EQ(fixture.store->count(Call::kRead), 1U);
}

TEST(ChunkSource, YoungVersionsAreUsedButNotRemembered) {
  for (const int64_t seconds_ahead : {0, 5}) {  // the store's clock may be slightly ahead
    const Fixture fixture(TwoShards());
    fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
    fixture.store->SetTimestampGranularityNs(3600'000'000'000);
    Version young;
    young.inode = 7;
    young.ctime_ns =
        std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1) +
        seconds_ahead * 1'000'000'000;
    fixture.store->SetVersion("a/c/0", young);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(fixture.Text(0), "ab");
    EXPECT_EQ(fixture.store->count(Call::kRead), 3U);
  }
}

TEST(ChunkSource, YoungNestedShardsAreFound) {
  const Fixture fixture(Nested());
  fixture.store->Put("a/c/0", ShardBytes({ShardBytes({"a", "b"}), ShardBytes({"c", "d"})}));
  fixture.store->SetTimestampGranularityNs(std::numeric_limits<int64_t>::max());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) wrong += fixture.Text(2) != "c";
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ChunkSource, FailuresOfTheStoreAreNotRemembered) {
  for (const ErrorCode code : {ErrorCode::kIo, ErrorCode::kPermissionDenied, ErrorCode::kTimedOut,
                               ErrorCode::kTooManyOpenFiles, ErrorCode::kInterrupted}) {
    const Fixture fixture(TwoShards());
    fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
    fixture.store->FailAllWith("a/c/0", {code, "pulled"});
    EXPECT_EQ(fixture.Text(0, kNow), ToString(code));
    EXPECT_EQ(fixture.reports.size(), 0U);
    fixture.store->ClearFaults();
    EXPECT_EQ(fixture.Text(0, kNow), "ab");
    fixture.store->FailAllWith("a/c/0", {code, "pulled"});
    EXPECT_EQ(fixture.Text(0, kNow), ToString(code));
    EXPECT_EQ(fixture.Locate(0, hours(1)).has_value(), true) << "what is known stays known";
    fixture.store->ClearFaults();
    EXPECT_EQ(fixture.Text(0, kNow), "ab");
  }
}

TEST(ChunkSource, AnUnreadableShardIsListedAndAnAbsentStoreIsNot) {
  const Fixture fixture(TwoShards());
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  fixture.store->FailWith(Call::kRead, "a/c/0", {ErrorCode::kPermissionDenied, "no"});
  EXPECT_EQ(fixture.Visited(0), (std::vector<uint64_t>{0, 1}));
  fixture.store->FailWith(Call::kRead, "a/c/0", {ErrorCode::kTimedOut, "no"});
  ChunkCursor cursor(*fixture.source, OuterIndex{0}, {.max_age = kNow});
  EXPECT_EQ(cursor.Next(), nullptr);
  ASSERT_FALSE(cursor.status());
  EXPECT_EQ(cursor.status().error().code, ErrorCode::kTimedOut);
}

TEST(ChunkSource, AShardThatEndsEarlyIsAnErrorAndNoShortAnswer) {
  const Fixture fixture(TwoShards());
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  fixture.store->Shorten("a/c/0", 10);
  EXPECT_EQ(fixture.Text(0), "damaged");
  fixture.store->ClearFaults();
  EXPECT_EQ(fixture.Text(0), "ab") << "not a fact about the version";
}

TEST(ChunkSource, AShardReplacedBetweenIndexAndDataIsNeverBlended) {
  for (const bool in_place : {false, true}) {
    const Fixture fixture(TwoShards());
    fixture.store->SetReplacedIsStale(true);
    fixture.store->Put("a/c/0", ShardBytes({"old", "o"}));
    const auto place = fixture.Locate(0);
    ASSERT_TRUE(place && *place);
    const std::string newer = ShardBytes({"N", "newest"});
    in_place ? fixture.store->RewriteInPlace("a/c/0", newer) : fixture.store->Put("a/c/0", newer);
    EXPECT_EQ(Fixture::TextOf(**place), "changed meanwhile");
    EXPECT_EQ(fixture.Text(0), "changed meanwhile");
    fixture.source->Forget(OuterIndex{0});
    EXPECT_EQ(fixture.Text(0), "N");
  }
}

// --- Threads
// ------------------------------------------------------------------------------------------

TEST(ChunkSource, SixteenThreadsReadAnIndexOnce) {
  const Fixture fixture(TwoShards());
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  fixture.store->Block(Call::kRead, "a/c/0");
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] { right += fixture.Text(0, hours(1)) == "ab"; });
  }
  EXPECT_TRUE(fixture.store->WaitUntilBlocked());
  fixture.store->Release();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 16);
  EXPECT_EQ(fixture.store->count(Call::kRead), 1U);
}

TEST(ChunkSource, ALoadThatBeganBeforeTheQuestionIsCheckedForItsAge) {
  const Fixture fixture(TwoShards());
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  fixture.store->Block(Call::kRead, "a/c/0");
  std::thread first([&] { EXPECT_EQ(fixture.Text(0, kNow), "ab"); });
  EXPECT_TRUE(fixture.store->WaitUntilBlocked());
  std::thread second([&] { EXPECT_EQ(fixture.Text(0, kNow), "ab"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  fixture.store->Release();
  first.join();
  second.join();
  EXPECT_EQ(fixture.store->count(Call::kRead), 1U);
  EXPECT_EQ(fixture.store->count(Call::kStat), 1U);
}

TEST(ChunkSource, AThreadThatMayNotWaitIsAnsweredAtOnce) {
  const Fixture fixture(TwoShards(), /*gated=*/true);
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  EXPECT_EQ(fixture.Text(0), "ab");
  for (const Call call : FakeStore::kAllCalls) fixture.store->Block(call, "");
  {
    const NoWaiting no_waiting;
    EXPECT_TRUE(fixture.Locate(1)) << "what is known needs no store";
    EXPECT_EQ(fixture.Text(1), "would block") << "its bytes do";
    EXPECT_EQ(fixture.Text(1, kNow), "would block");
    EXPECT_EQ(fixture.Text(2), "would block");
    EXPECT_EQ(fixture.source->ListOuter({}).error().code, ErrorCode::kWouldBlock);
    EXPECT_EQ(fixture.source->AnyChunk({}, kNow).error().code, ErrorCode::kWouldBlock);
    EXPECT_EQ(fixture.source->NextCoordinates({}, kNow).error().code, ErrorCode::kWouldBlock);
    ChunkCursor cursor(*fixture.source, OuterIndex{1}, {.max_age = kNow});
    EXPECT_EQ(cursor.Next(), nullptr);
    EXPECT_FALSE(cursor.status());
  }
  fixture.store->ClearFaults();
  EXPECT_EQ(fixture.Text(2), "-");
  EXPECT_EQ(fixture.reports.size(), 0U);
}

TEST(ChunkSource, AThreadThatMayNotWaitDoesNotJoinALoad) {
  const Fixture fixture(TwoShards(), /*gated=*/true);
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  fixture.store->Block(Call::kRead, "a/c/0");
  std::thread loader([&] { EXPECT_EQ(fixture.Text(0), "ab"); });
  EXPECT_TRUE(fixture.store->WaitUntilBlocked());
  {
    const NoWaiting no_waiting;
    EXPECT_EQ(fixture.Text(0), "would block");
  }
  fixture.store->Release();
  loader.join();
}

/// A store that refuses threads that may not wait, but only after another thread had time to join
/// the load.
class SlowRefusal final : public Store {
 public:
  explicit SlowRefusal(std::shared_ptr<const Store> store) : store_(std::move(store)) {}
  Result<ObjectInfo> Stat(std::string_view key) const override { return store_->Stat(key); }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    if (MayWait()) return store_->Read(key, range, out);
    refusing = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return Fail(ErrorCode::kWouldBlock, "may not wait");
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    return store_->OpenFolder(folder);
  }
  bool AnswersFast() const override { return false; }
  int64_t TimestampGranularityNs() const override { return 1; }
  std::string name() const override { return "slow refusal"; }

  mutable std::atomic<bool> refusing = false;

 private:
  const std::shared_ptr<const Store> store_;
};

TEST(ChunkSource, AThreadThatMayWaitIsNotRefusedForAnotherThatMayNot) {
  const auto store = std::make_shared<FakeStore>();
  store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  const auto slow = std::make_shared<SlowRefusal>(store);
  const auto source =
      *ChunkSource::Make(slow, "a", TwoShards(), std::make_shared<IndexCache>(slow, 1u << 20), {});
  std::thread refused([&] {
    const NoWaiting no_waiting;
    EXPECT_FALSE(source->Locate(InnerIndex{0}, kAnyAge));
  });
  while (!slow->refusing) std::this_thread::yield();
  EXPECT_TRUE(source->Locate(InnerIndex{0}, kAnyAge));
  refused.join();
}

// --- Listings
// -----------------------------------------------------------------------------------------

TEST(ChunkSource, ForeignNamesAreNoChunks) {
  const Fixture nested(Array("[40, 40]", "[2, 2]", Sharding("[1, 1]", kGzip2)));
  const std::string shard = ShardBytes({"a", "b", "c", "d"});
  for (const char* key : {"a/c/1/2", "a/c/00/0", "a/c/1/02", "a/c/1/20", "a/c/20/0", "a/c/1/2.tmp",
                          "a/c/1/.2", "a/c/1/-0", "a/c/x/0", "a/c/0", "a/c/1/c", "a/zarr.json"}) {
    nested.store->Put(key, shard);
  }
  nested.store->PutFolder("a/c/1/3");
  EXPECT_EQ(nested.Outers(), std::vector<uint64_t>{22});
  EXPECT_EQ(nested.source->NextCoordinates({}, kNow), (Coordinates{2, 3}));
  EXPECT_EQ(nested.source->NextCoordinates(Coordinates{2}, kNow), (Coordinates{4, 5}));

  const Fixture flat(
      Array("[40, 40]", "[2, 2]", Sharding("[1, 1]", kGzip2), Encoding("default", ".")));
  for (const char* key : {"a/c.1.2", "a/c.01.2", "a/c.1", "a/c.1.2.0", "a/c.1.20", "a/1.2",
                          "a/c.1.2~", "a/c", "a/c.", "a/c..", "a/c.1.", "a/.c.1.2"}) {
    flat.store->Put(key, shard);
  }
  flat.store->PutFolder("a/c.0.0");
  EXPECT_EQ(flat.Outers(), std::vector<uint64_t>{22});
}

TEST(ChunkSource, AnArrayWithoutChunksIsEmptyAndNoError) {
  for (const char* separator : {"/", "."}) {
    const Fixture fixture(
        Array("[4, 4]", "[2, 2]", Sharding("[1, 1]", kGzip2), Encoding("default", separator)));
    EXPECT_EQ(fixture.Outers(), std::vector<uint64_t>{});
    EXPECT_FALSE(fixture.Any());
    EXPECT_EQ(fixture.source->NextCoordinates({}, kNow), Coordinates{});
    EXPECT_EQ(fixture.Visited(0), std::vector<uint64_t>{});
  }
}

TEST(ChunkSource, AnEmptyDimensionHasNoChunksWhateverLiesThere) {
  const Fixture fixture(Array("[4, 0]", "[2, 2]", Sharding("[1, 1]", kGzip2)));
  fixture.store->Put("a/c/0/0", ShardBytes({"a", "b", "c", "d"}));
  EXPECT_EQ(fixture.Outers(), std::vector<uint64_t>{});
  EXPECT_EQ(fixture.source->NextCoordinates({}, kNow), Coordinates{});
  EXPECT_FALSE(fixture.Any());
}

TEST(ChunkSource, ATrillionPositionsWithThreeShardsListAtOnce) {
  for (const char* separator : {"/", "."}) {
    const Fixture fixture(Array("[1000000, 1000000]", "[10, 10]", Sharding("[1, 1]", kGzip2),
                                Encoding("default", separator)));
    Chunks chunks(100);
    chunks[3] = "x";
    chunks[95] = "y";
    for (const uint64_t at : {0, 500, 99'999}) {
      fixture.store->Put(fmt::format("a/c{0}{1}{0}{1}", separator, at), ShardBytes(chunks));
    }
    EXPECT_EQ(fixture.Outers(), (std::vector<uint64_t>{0, 50'000'500, 9'999'999'999}));
    EXPECT_EQ(fixture.Visited(9'999'999'999),
              (std::vector<uint64_t>{999'990'999'993, 999'999'999'995}));
    EXPECT_EQ(fixture.source->NextCoordinates({}, kNow),
              (Coordinates{0, 9, 5000, 5009, 999'990, 999'999}));
    EXPECT_TRUE(fixture.Any({5009}));
    EXPECT_FALSE(fixture.Any({5008}));
    EXPECT_LT(fixture.store->total_count(), 200U);
  }
}

TEST(ChunkSource, AVisitStopsWhenItIsTold) {
  const Fixture fixture(TwoShards());
  fixture.store->Put("a/c/0", ShardBytes({"ab", "cd"}));
  fixture.store->Put("a/c/1", ShardBytes({"ab", "cd"}));
  int visits = 0;
  const auto stop = [&](auto&&...) { return ++visits, false; };
  EXPECT_TRUE(fixture.source->VisitOuter({}, stop));
  EXPECT_EQ(visits, 1);
}

// --- Shards that differ in shape
// ------------------------------------------------------------------------------------

// Shards of 2, 3 and 3 chunks. The last chunk of the last shard is outside the array.
ArrayMetadata ThreeShards(std::string_view more = "", std::string_view around = "") {
  return Array("[15]", "[]", Sharding("[2]", kGzip2, more) + std::string(around),
               Rectilinear("[[4, 6, 6]]"));
}

TEST(ChunkSource, ShardsThatDifferHaveIndexesOfTheirOwnSize) {
  for (const bool at_end : {true, false}) {
    const Fixture fixture(ThreeShards(at_end ? "" : R"("index_location": "start")"));
    fixture.store->Put("a/c/0", ShardBytes({"zero", "one"}, at_end));
    fixture.store->Put("a/c/1", ShardBytes({"two", std::nullopt, "four"}, at_end));
    fixture.store->Put("a/c/2", ShardBytes({"five", "six", "seven"}, at_end));
    const std::vector<std::string> expected = {"zero", "one",  "two", "-",
                                               "four", "five", "six", "seven"};
    for (uint64_t chunk = 0; chunk < 8; ++chunk) EXPECT_EQ(fixture.Text(chunk), expected[chunk]);
    EXPECT_EQ(fixture.Visited(0), (Coordinates{0, 1}));
    EXPECT_EQ(fixture.Visited(1), (Coordinates{2, 4}));
    EXPECT_EQ(fixture.Visited(2), (Coordinates{5, 6, 7}));
    EXPECT_EQ(fixture.source->NextCoordinates({}, kNow), (Coordinates{0, 1, 2, 4, 5, 6, 7}));
    EXPECT_EQ(fixture.source->ObjectOfKey("a/c/3"), std::nullopt);
  }
}

TEST(ChunkSource, NoChunkOfASmallShardIsMissingThatItCannotHave) {
  const Fixture fixture(ThreeShards());
  fixture.store->Put("a/c/0", ShardBytes({std::nullopt, "one"}));
  std::vector<uint64_t> chunks;
  for (uint64_t outer = 0; outer < 3; ++outer) {
    ChunkCursor cursor(*fixture.source, OuterIndex{outer}, {.include_missing = true});
    while (const ListedChunk* next = cursor.Next()) chunks.push_back(ToNumber(next->chunk));
  }
  EXPECT_EQ(chunks, (Coordinates{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(ChunkSource, TheIndexOfAShardOfAnotherShapeIsDamage) {
  const Fixture fixture(ThreeShards());
  fixture.store->Put("a/c/0", ShardBytes({"zero", "one", "more"}));
  fixture.store->Put("a/c/1", ShardBytes({"", "two"}));
  std::string truncated = ShardBytes({"five", "six", std::nullopt});
  truncated.pop_back();
  fixture.store->Put("a/c/2", truncated);
  EXPECT_EQ(fixture.Text(0), "damaged");
  EXPECT_EQ(fixture.Text(2), "damaged");
  ASSERT_EQ(fixture.reports.size(), 2U);
  EXPECT_TRUE(Contains(fixture.reports[0], "a/c/0: shard index: crc32c")) << fixture.reports[0];
  EXPECT_TRUE(
      Contains(fixture.reports[1], "a/c/1: the shard has 39 bytes, fewer than its index of 52"))
      << fixture.reports[1];
  EXPECT_EQ(fixture.Text(5), "damaged");
  EXPECT_EQ(fixture.Visited(1), (Coordinates{2, 3, 4})) << "all of a damaged shard are listed";
}

TEST(ChunkSource, ShardsThatDifferMayBeCompressedAsAWhole) {
  const Fixture fixture(ThreeShards("", R"(, {"name": "zstd", "configuration": {"level": 0}})"));
  const auto zstd = *MakeZstdCodec(CodecSpec{"zstd", Json::object()});
  const auto compressed = [&](const std::string& shard) {
    const auto bytes = std::as_bytes(std::span(shard));
    const Bytes frame = *zstd->Encode(Bytes(bytes.begin(), bytes.end()));
    return std::string(reinterpret_cast<const char*>(frame.data()), frame.size());
  };
  fixture.store->Put("a/c/0", compressed(ShardBytes({"zero", "one"})));
  fixture.store->Put("a/c/1", compressed(ShardBytes({"two", "three", "four"})));
  fixture.store->Put("a/c/2", compressed(ShardBytes({"", ""})));
  EXPECT_EQ(fixture.Text(1), "one");
  EXPECT_EQ(fixture.Text(4), "four");
  EXPECT_EQ(fixture.Text(5), "damaged");
}

// --- Against a model
// ------------------------------------------------------------------------------------

/// A random array: its chunks, and its stored objects as the specification defines them.
class Model {
 public:
  explicit Model(uint32_t seed) : random_(seed) {
    const size_t rank = 1 + Draw(3);
    const size_t levels = Draw(3);
    Coordinates inner(rank);
    for (auto& edge : inner) edge = 1 + Draw(2);
    Coordinates size = inner;
    Coordinates count(rank, 1);  // the number of innermost chunks
    std::string codecs(kGzip2);
    for (size_t l = levels; l-- > 0;) {
      Coordinates ratio(rank);
      std::vector<size_t> order(rank);
      std::iota(order.begin(), order.end(), size_t{0});
      std::shuffle(order.begin(), order.end(), random_);
      const Coordinates chunk = size;
      for (size_t j = 0; j < rank; ++j) ratio[j] = 1 + Draw(3);
      for (size_t j = 0; j < rank; ++j) size[j] = chunk[j] * ratio[j];
      plan_.insert(plan_.begin(), {order, count});
      for (size_t j = 0; j < rank; ++j) count[j] *= ratio[j];
      unit_ = chunk;
      codecs = Sharding(Text(chunk), codecs);
      if (Draw(2) == 0) {
        codecs = fmt::format(R"({{"name": "transpose", "configuration": {{"order": {}}}}}, {})",
                             Text(order), codecs);
        for (Coordinates* axes : {&size, &count, &unit_}) {
          Coordinates before(rank);
          for (size_t j = 0; j < rank; ++j) before[order[j]] = (*axes)[j];
          *axes = before;
        }
      } else {
        std::iota(order.begin(), order.end(), size_t{0});
        plan_.front().order = order;
      }
    }
    for (size_t d = 0; d < rank; ++d) shape_.push_back(1 + Draw(3 * size[d]));
    const bool v2 = Draw(2) == 0;
    const std::string encoding = Encoding(v2 ? "v2" : "default", Draw(2) == 0 ? "/" : ".");
    const bool is_rectilinear = levels > 0 && Draw(2) == 0;
    std::vector<std::string> lists;
    for (size_t d = 0; d < rank; ++d) {
      Coordinates& edges = edges_.emplace_back();
      for (uint64_t sum = 0; sum < shape_[d]; sum += edges.back()) {
        edges.push_back(is_rectilinear ? unit_[d] * (1 + Draw(size[d] / unit_[d])) : size[d]);
      }
      lists.push_back(Text(edges));
    }
    Json members = *ParseJson(encoding, "");
    if (is_rectilinear) members.update(*ParseJson(Rectilinear(Text(lists)), ""));
    metadata_ = Array(Text(shape_), Text(size), codecs, DumpJson(members));
  }

  const ArrayMetadata& metadata() const { return metadata_; }
  const std::map<uint64_t, std::string>& chunks() const { return chunks_; }

  void Fill(const ChunkSource& source, FakeStore& store) {
    const ArrayLayout& layout = source.layout();
    for (uint64_t chunk = 0; chunk < layout.inner_grid.size(); ++chunk) {
      if (Draw(3) == 0) chunks_[chunk] = fmt::format("<chunk {}>", chunk);
    }
    for (size_t d = 0; d < shape_.size(); ++d) {
      ASSERT_EQ(layout.outer_grid.counts()[d], edges_[d].size());
    }
    for (uint64_t outer = 0; outer < layout.outer_grid.size(); ++outer) {
      ChunkCoordinates outer_at;
      layout.outer_grid.Coordinates(outer, outer_at);
      Coordinates origin;
      Coordinates counts;
      for (size_t d = 0; d < shape_.size(); ++d) {
        const auto own = edges_[d].begin() + static_cast<ptrdiff_t>(outer_at[d]);
        const uint64_t inner = layout.inner_chunk_shape[d];
        origin.push_back(std::accumulate(edges_[d].begin(), own, uint64_t{0}) / inner);
        counts.push_back(*own / inner);
      }
      const auto bytes =
          Encode(0, counts, [&](const Coordinates& at) -> std::optional<std::string> {
            Coordinates global(at.size());
            for (size_t d = 0; d < at.size(); ++d) {
              global[d] = origin[d] + at[d];
              if (global[d] >= layout.inner_grid.counts()[d]) return "outside of the array";
            }
            const auto found = chunks_.find(layout.inner_grid.Linear(global));
            if (found == chunks_.end()) return std::nullopt;
            return found->second;
          });
      if (bytes) store.Put(source.ObjectKey(OuterIndex{outer}), *bytes);
    }
  }

 private:
  using Contents = std::function<std::optional<std::string>(const Coordinates&)>;
  struct Level {
    std::vector<size_t> order;
    Coordinates part;  // innermost chunks per chunk of this level, along the transposed axes
  };

  uint64_t Draw(uint64_t below) { return random_() % below; }
  template <typename T>
  static std::string Text(const std::vector<T>& values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }

  // Encodes `contents`, a block of `size` innermost chunks, as an object. nullopt if all chunks are
  // missing.
  std::optional<std::string> Encode(size_t level, const Coordinates& size,
                                    const Contents& contents) const {
    const size_t rank = size.size();
    if (level == plan_.size()) return contents(Coordinates(rank, 0));
    const std::vector<size_t>& order = plan_[level].order;
    const Coordinates& part = plan_[level].part;
    Coordinates ratio(rank);
    uint64_t count = 1;
    for (size_t j = 0; j < rank; ++j) {
      ratio[j] = size[order[j]] / part[j];
      count *= ratio[j];
    }
    Chunks entries;
    bool any = false;
    for (uint64_t i = 0; i < count; ++i) {
      Coordinates at(rank);
      for (uint64_t rest = i, j = rank; j-- > 0; rest /= ratio[j]) at[j] = rest % ratio[j];
      entries.push_back(Encode(level + 1, part, [&](const Coordinates& in_part) {
        Coordinates decoded(rank);
        for (size_t j = 0; j < rank; ++j) decoded[order[j]] = at[j] * part[j] + in_part[j];
        return contents(decoded);
      }));
      any = any || entries.back();
    }
    if (!any) return std::nullopt;
    return ShardBytes(entries);
  }

  std::mt19937 random_;
  Coordinates shape_;
  std::vector<Level> plan_;         // outermost first
  Coordinates unit_;                // the shape of a chunk of the outermost level
  std::vector<Coordinates> edges_;  // the lengths of stored objects along each axis
  ArrayMetadata metadata_;
  std::map<uint64_t, std::string> chunks_;
};

bool BeginsWith(const ChunkCoordinates& at, const Coordinates& prefix) {
  return std::equal(prefix.begin(), prefix.end(), at.begin());
}

TEST(ChunkSource, AgreesWithAModelOnRandomArrays) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    const Fixture fixture(model.metadata());
    model.Fill(*fixture.source, *fixture.store);
    const ChunkGrid& grid = fixture.source->layout().inner_grid;
    const size_t rank = grid.rank();

    for (uint64_t chunk = 0; chunk < grid.size(); ++chunk) {
      const auto found = model.chunks().find(chunk);
      ASSERT_EQ(fixture.Text(chunk), found == model.chunks().end() ? "-" : found->second) << chunk;
    }

    // Every prefix of every chunk's coordinates, and a few prefixes without chunks.
    std::set<Coordinates> prefixes = {{}};
    for (uint64_t chunk = 0; chunk < grid.size(); ++chunk) {
      ChunkCoordinates at;
      grid.Coordinates(chunk, at);
      for (size_t n = 1; n <= rank; ++n)
        prefixes.insert(Coordinates(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(n)));
      if (prefixes.size() > 60) break;
    }
    for (const Coordinates& prefix : prefixes) {
      std::set<uint64_t> expected;
      std::set<uint64_t> next;
      for (const auto& [chunk, text] : model.chunks()) {
        ChunkCoordinates at;
        grid.Coordinates(chunk, at);
        if (!BeginsWith(at, prefix)) continue;
        expected.insert(chunk);
        if (prefix.size() < rank) next.insert(at[prefix.size()]);
      }
      std::set<uint64_t> visited;
      for (const uint64_t outer : fixture.Outers(prefix)) {
        std::vector<std::pair<uint64_t, uint64_t>> places;  // slot, chunk
        ChunkCursor cursor(*fixture.source, OuterIndex{outer}, {.prefix = prefix});
        while (const ListedChunk* at = cursor.Next()) {
          EXPECT_EQ(Fixture::TextOf(*at->location), model.chunks().at(ToNumber(at->chunk)));
          EXPECT_EQ(at->location->outer, OuterIndex{outer});
          EXPECT_EQ(fixture.source->SlotOf(at->chunk), at->slot);
          places.emplace_back(ToNumber(at->slot), ToNumber(at->chunk));
        }
        ASSERT_TRUE(cursor.status());
        EXPECT_TRUE(std::ranges::is_sorted(places));
        for (size_t i = 0; i < places.size(); ++i) {
          visited.insert(places[i].second);
          EXPECT_EQ(fixture.source->OuterOf(InnerIndex{places[i].second}), OuterIndex{outer});
          // A cursor that starts at the next slot visits exactly the remaining chunks.
          std::vector<uint64_t> rest;
          for (size_t k = i + 1; k < places.size(); ++k) rest.push_back(places[k].second);
          ASSERT_EQ(fixture.Visited(outer, prefix, places[i].first + 1), rest);
        }
      }
      ASSERT_EQ(visited, expected);
      ASSERT_EQ(fixture.Any(prefix, kAnyAge), !expected.empty());
      ASSERT_EQ(*fixture.source->NextCoordinates(prefix, kAnyAge),
                Coordinates(next.begin(), next.end()));
    }
    EXPECT_EQ(fixture.reports.size(), 0U);
  }
}

}  // namespace
}  // namespace zarrfs::chunk_source_test
