#include "zarrcore/array/shard_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs::shard_cache_test {
namespace {

using Call = FakeStore::Call;
constexpr Age kNow{0};
constexpr OuterIndex kFirst{0};

ArrayMetadata PlainChunks() { return Array("[4]", "[2]", kBytesCodec); }

// An array "a" of unsharded chunks a/c/0 and a/c/1, or of shards.
struct Fixture {
  explicit Fixture(const ArrayMetadata& metadata) : layout(LayoutOf(metadata)) {
    store->SetCountsChanges(true);
    store->Put("a/c/0", "plain");
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  ArrayLayout layout;
  std::vector<std::pair<OuterIndex, OpenShardPtr>> superseded;
  const ObjectNaming naming{ChunkKeyEncoding{}};
  const ShardCache shards{
      store,
      "a",
      layout,
      naming,
      std::make_shared<IndexCache>(store, 1u << 20),
      [this](OuterIndex outer, const OpenShardPtr& old) { superseded.emplace_back(outer, old); }};
};

TEST(ShardCache, AnswersHoldUntilTheStoreReportsAChange) {
  Fixture fixture(PlainChunks());
  const auto opened = fixture.shards.Open(kFirst, kNow);
  ASSERT_TRUE(opened.value);
  EXPECT_TRUE(opened.validity.Holds(*fixture.store));
  EXPECT_EQ((*opened.value)->size, 5U);
  const auto absent = fixture.shards.Open(OuterIndex{1}, kNow);
  EXPECT_EQ(absent.value.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(absent.validity.Holds(*fixture.store));
  fixture.store->Put("a/c/1", "new");
  EXPECT_FALSE(opened.validity.Holds(*fixture.store));
  EXPECT_FALSE(absent.validity.Holds(*fixture.store));
}

// One request shows that all chunks of an absent shard are missing.
TEST(ShardCache, AbsenceInASlowStoreIsKeptUntilItIsTooOld) {
  Fixture fixture(PlainChunks());
  fixture.store->SetCountsChanges(false);
  fixture.store->SetAnswersFast(false);
  constexpr OuterIndex kSecond{1};
  const auto code = [&](Age max_age) {
    fixture.store->ResetCounts();
    const auto answer = fixture.shards.Open(kSecond, max_age);
    return answer.value ? ErrorCode::kInvalidArgument : answer.value.error().code;
  };
  EXPECT_EQ(code(std::chrono::hours(1)), ErrorCode::kNotFound);
  EXPECT_EQ(fixture.store->total_count(), 1U);
  EXPECT_EQ(code(std::chrono::hours(1)), ErrorCode::kNotFound);
  EXPECT_EQ(fixture.store->total_count(), 0U);
  EXPECT_EQ(code(kNow), ErrorCode::kNotFound);
  EXPECT_EQ(fixture.store->total_count(), 1U) << "asked again, and still absent";
  fixture.store->Put("a/c/1", "new");
  EXPECT_TRUE(fixture.shards.Open(kSecond, kNow).value);
  EXPECT_TRUE(fixture.superseded.empty()) << "nothing was there that could be read on";
}

TEST(ShardCache, LookingReadsNothingAndIsRemembered) {
  Fixture fixture(PlainChunks());
  const auto seen = fixture.shards.Look(kFirst, kNow);
  ASSERT_TRUE(seen.value);
  EXPECT_EQ((*seen.value)->object, nullptr);
  EXPECT_TRUE(seen.validity.Holds(*fixture.store));
  EXPECT_EQ(fixture.store->count(Call::kRead), 0U);
  // A chunk that is already open is not stat'ed again.
  const auto opened = fixture.shards.Open(kFirst, kNow);
  EXPECT_NE((*opened.value)->object, nullptr);
  EXPECT_EQ(*fixture.shards.Look(kFirst, kNow).value, *opened.value);
  EXPECT_EQ(fixture.store->count(Call::kStat), 1U);
}

TEST(ShardCache, AReplacedVersionIsHandedOnAndTheChangeIsDated) {
  Fixture fixture(PlainChunks());
  const auto before = fixture.shards.Open(kFirst, kNow);
  EXPECT_EQ(fixture.shards.changed_ns(), 0);
  fixture.store->Put("a/c/0", "newer");
  const auto seen = fixture.shards.Look(kFirst, kNow);
  EXPECT_NE(*seen.value, *before.value);
  ASSERT_EQ(fixture.superseded.size(), 1U);
  EXPECT_EQ(fixture.superseded[0], std::pair(kFirst, *before.value));
  EXPECT_NE(fixture.shards.changed_ns(), 0);
}

TEST(ShardCache, NestedShardsBelongToOneOpenObject) {
  Fixture fixture(Array(
      "[4]", "[4]", Sharding("[2]", Sharding("[1]", R"({"name": "bytes"}, {"name": "gzip"})"))));
  const std::string nested = ShardBytes({"ab", "cd"});
  fixture.store->Put("a/c/0", ShardBytes({nested, nested}));
  const auto open_nested = [&] {
    const auto outer = *fixture.shards.Open(kFirst, kNow).value;
    return *fixture.shards.OpenNested(outer, 1, 0, **outer->index->Find(0));
  };
  const auto first = open_nested();
  EXPECT_EQ(open_nested(), first);
  fixture.shards.Forget(kFirst);
  EXPECT_NE(open_nested(), first) << "of another open object";
}

}  // namespace
}  // namespace zarrfs::shard_cache_test
