#include "zarrcore/content/stored_ranges.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs::stored_ranges_test {
namespace {

using Call = FakeStore::Call;

// An array "a" of one shard of four chunks, which lie in it from the last to the first.
struct Fixture {
  Fixture() {
    store->SetAnswersFast(false);
    store->Put("a/c/0", ShardBytes({"first", "2nd", "third", "fourth"}));
    auto made = ChunkSource::Make(store, "a", Array("[8]", "[8]", Sharding("[2]", kGzipCodec)),
                                  std::make_shared<IndexCache>(store, 1u << 20), {});
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    source = std::move(*made);
  }

  ChunkLocation At(uint64_t chunk) {
    const auto found = source->Locate(InnerIndex{chunk}, kAnyAge);
    EXPECT_TRUE(found && found->location);
    return *found->location;
  }
  std::string Read(uint64_t chunk, uint64_t offset, size_t length) {
    std::string text(length, ' ');
    const auto read =
        ranges.Read(*source, At(chunk), offset, std::as_writable_bytes(std::span(text)));
    return read ? text : std::string(ToString(read.error().code));
  }
  uint64_t reads() const { return store->count(Call::kObjectRead); }

  const std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::shared_ptr<ChunkSource> source;
  StoredRanges ranges{1u << 20};
};

TEST(StoredRanges, ChunkIsFetchedOnceForAllOfItsPieces) {
  Fixture fixture;
  EXPECT_EQ(fixture.Read(3, 0, 3), "fou");
  EXPECT_EQ(fixture.Read(3, 3, 3), "rth");
  EXPECT_EQ(fixture.Read(0, 1, 4), "irst");
  EXPECT_EQ(fixture.reads(), 2U);
}

TEST(StoredRanges, ChunksOfAFetchedRangeAreNotAskedForAgain) {
  Fixture fixture;
  const ChunkLocation last = fixture.At(3);
  ASSERT_TRUE(fixture.ranges.Fetch(*fixture.source, last, last.offset, last.offset + 14));
  EXPECT_TRUE(fixture.ranges.Has(*fixture.source, fixture.At(2)));
  EXPECT_TRUE(fixture.ranges.Has(*fixture.source, fixture.At(1)));
  EXPECT_FALSE(fixture.ranges.Has(*fixture.source, fixture.At(0)));
  EXPECT_EQ(fixture.Read(1, 0, 3), "2nd");
  EXPECT_EQ(fixture.Read(2, 2, 3), "ird");
  EXPECT_EQ(fixture.reads(), 1U);
}

TEST(StoredRanges, AReadOfAPlannedRangeFetchesAllOfIt) {
  Fixture fixture;
  const ChunkLocation last = fixture.At(3);
  fixture.ranges.Plan(*fixture.source, last, last.offset, last.offset + 14);
  EXPECT_EQ(fixture.Read(1, 0, 3), "2nd");
  EXPECT_EQ(fixture.Read(3, 0, 6), "fourth");
  EXPECT_EQ(fixture.reads(), 1U);
  fixture.ranges.Evict(SIZE_MAX);
  EXPECT_FALSE(fixture.ranges.Has(*fixture.source, last)) << "gone with its bytes";
}

TEST(StoredRanges, ManyReadersOfAChunkMakeOneRequest) {
  Fixture fixture;
  const ChunkLocation chunk = fixture.At(2);
  fixture.store->Block(Call::kObjectRead, "a");
  std::vector<std::future<std::string>> readers;
  for (int i = 0; i < 8; ++i) {
    readers.push_back(std::async(std::launch::async, [&] { return fixture.Read(2, 0, 5); }));
  }
  ASSERT_TRUE(fixture.store->WaitUntilBlocked());
  {
    const NoWaiting scope;
    EXPECT_EQ(fixture.Read(2, 0, 5), ToString(ErrorCode::kWouldBlock));
  }
  fixture.store->Release();
  for (auto& reader : readers) EXPECT_EQ(reader.get(), "third");
  EXPECT_EQ(fixture.reads(), 1U);
}

TEST(StoredRanges, FailureIsNotKept) {
  Fixture fixture;
  const ChunkLocation chunk = fixture.At(0);
  fixture.store->FailWith(Call::kObjectRead, "a", {ErrorCode::kIo, "cable pulled"});
  EXPECT_EQ(fixture.Read(0, 0, 5), ToString(ErrorCode::kIo));
  EXPECT_FALSE(fixture.ranges.Has(*fixture.source, chunk));
  fixture.store->ClearFaults();
  EXPECT_EQ(fixture.Read(0, 0, 5), "first");
}

TEST(StoredRanges, WithoutMemoryTheStoreIsRead) {
  Fixture fixture;
  (void)fixture.At(0);
  ProcessMemory().SetLimit(ProcessMemory().used());
  EXPECT_EQ(fixture.Read(0, 0, 2), "fi");
  EXPECT_EQ(fixture.Read(0, 2, 3), "rst");
  EXPECT_EQ(fixture.reads(), 2U);
  EXPECT_EQ(fixture.ranges.statistics().entries, 0U);
  ProcessMemory().SetLimit(UINT64_MAX);
}

}  // namespace
}  // namespace zarrfs::stored_ranges_test
