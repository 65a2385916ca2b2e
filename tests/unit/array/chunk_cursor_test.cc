#include "zarrcore/array/chunk_cursor.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs::chunk_cursor_test {
namespace {

using Call = FakeStore::Call;
constexpr Age kNow{0};

// An array "a" of 3 chunks in one shard of 4 slots, the last of which is outside the array.
struct Fixture {
  Fixture() {
    store->SetCountsChanges(true);
    source = *ChunkSource::Make(
        store, "a",
        Array("[3]", "[4]",
              Sharding("[1]",
                       R"({"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}})")),
        std::make_shared<IndexCache>(store, 1u << 20), {});
  }

  /// The slots that the cursor returns, each followed by '-' if the chunk is missing, and by '!' if
  /// it is damaged.
  static std::string Rest(ChunkCursor& cursor) {
    std::string text;
    while (const ListedChunk* next = cursor.Next()) {
      text += std::to_string(ToNumber(next->slot));
      if (!next->location) text += next->location.error().code == ErrorCode::kNotFound ? '-' : '!';
    }
    return text;
  }
  [[nodiscard]] std::string All(const CursorOptions& options = {.max_age = kNow}) const {
    ChunkCursor cursor(*source, OuterIndex{0}, options);
    return Rest(cursor);
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::shared_ptr<ChunkSource> source;
};

TEST(ChunkCursor, GivesWhatIsPresentAndMissingChunksWhereTheyAreAskedFor) {
  const Fixture fixture;
  EXPECT_EQ(fixture.All(), "");
  EXPECT_EQ(fixture.All({.include_missing = true}), "0-1-2-") << "the object is absent";
  fixture.store->Put("a/c/0", ShardBytes({std::nullopt, "ab", "cd", "outside"}));
  EXPECT_EQ(fixture.All(), "12");
  EXPECT_EQ(fixture.All({.include_missing = true}), "0-12");
  EXPECT_EQ(fixture.All({.from = Slot{2}}), "2");
  EXPECT_EQ(fixture.All({.from = Slot{3}}), "");
  const std::vector<uint64_t> prefix{1};
  EXPECT_EQ(fixture.All({.prefix = prefix}), "1");
}

TEST(ChunkCursor, ChunksOfADamagedShardCountAsPresent) {
  const Fixture fixture;
  fixture.store->Put("a/c/0", "short");
  EXPECT_EQ(fixture.All(), "0!1!2!");
}

TEST(ChunkCursor, AsksTheStoreForNothingBeforeTheFirstChunkIsAskedFor) {
  const Fixture fixture;
  fixture.store->Put("a/c/0", ShardBytes({"ab", "ab", "ab", "ab"}));
  ChunkCursor cursor(*fixture.source, OuterIndex{0}, {.max_age = kNow});
  EXPECT_EQ(fixture.store->total_count(), 0U);
  EXPECT_FALSE(cursor.validity().is_known());
  EXPECT_NE(cursor.Next(), nullptr);
  EXPECT_EQ(fixture.store->count(Call::kRead), 1U);
  EXPECT_TRUE(cursor.validity().Holds(*fixture.store));
}

TEST(ChunkCursor, StopsWithTheErrorWhereTheStoreCannotBeAskedNow) {
  const Fixture fixture;
  fixture.store->Put("a/c/0", ShardBytes({"ab", "ab", "ab", "ab"}));
  fixture.store->FailAllWith("a/c/0", {ErrorCode::kTimedOut, "no"});
  ChunkCursor cursor(*fixture.source, OuterIndex{0}, {.max_age = kNow});
  EXPECT_EQ(Fixture::Rest(cursor), "");
  EXPECT_EQ(cursor.status().error().code, ErrorCode::kTimedOut);
  EXPECT_EQ(cursor.Next(), nullptr);
}

}  // namespace
}  // namespace zarrfs::chunk_cursor_test
