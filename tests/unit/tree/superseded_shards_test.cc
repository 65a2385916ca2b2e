#include "fs/tree/superseded_shards.h"

#include <gtest/gtest.h>

#include <memory>

namespace zarrfs::superseded_shards_test {
namespace {

class SomeObject final : public Object {
 public:
  const ObjectInfo& info() const override { return info_; }
  Result<void> Read(uint64_t, std::span<std::byte>) const override { return {}; }

 private:
  ObjectInfo info_;
};

OpenShardPtr Shard(uint64_t fingerprint) {
  auto shard = std::make_shared<OpenShard>();
  shard->object = std::make_shared<SomeObject>();
  shard->fingerprint = fingerprint;
  return shard;
}

constexpr SupersededShards::Clock::time_point kStart{std::chrono::hours(1)};
using std::chrono::seconds;

TEST(SupersededShardsTest, VersionIsFoundByItsFingerprint) {
  SupersededShards shards;
  shards.Put(1, OuterIndex{7}, Shard(100), kStart);
  shards.Put(1, OuterIndex{7}, Shard(200), kStart);
  ASSERT_NE(shards.Get(1, OuterIndex{7}, 100, kStart), nullptr);
  EXPECT_EQ(shards.Get(1, OuterIndex{7}, 100, kStart)->fingerprint, 100U);
  EXPECT_EQ(shards.Get(1, OuterIndex{7}, 300, kStart), nullptr);
  EXPECT_EQ(shards.Get(1, OuterIndex{8}, 100, kStart), nullptr);
  EXPECT_EQ(shards.Get(2, OuterIndex{7}, 100, kStart), nullptr);
}

TEST(SupersededShardsTest, VersionGoesAMinuteAfterItWasReadLast) {
  SupersededShards shards;
  shards.Put(1, OuterIndex{7}, Shard(100), kStart);
  shards.Put(1, OuterIndex{8}, Shard(200), kStart);
  EXPECT_NE(shards.Get(1, OuterIndex{7}, 100, kStart + seconds(30)), nullptr);
  EXPECT_EQ(shards.Sweep(kStart + seconds(59)), kStart + seconds(60));
  EXPECT_EQ(shards.size(), 2U);
  EXPECT_EQ(shards.Sweep(kStart + seconds(60)), kStart + seconds(90));
  EXPECT_EQ(shards.Get(1, OuterIndex{8}, 200, kStart + seconds(60)), nullptr);
  EXPECT_EQ(shards.Sweep(kStart + seconds(90)), SupersededShards::Clock::time_point::max());
  EXPECT_EQ(shards.size(), 0U);
}

TEST(SupersededShardsTest, NeverMoreThanTheLimit) {
  SupersededShards shards;
  for (uint64_t i = 0; i < SupersededShards::kMaxSuperseded + 3; ++i) {
    shards.Put(1, OuterIndex{i}, Shard(100), kStart + seconds(i));
  }
  EXPECT_EQ(shards.size(), SupersededShards::kMaxSuperseded);
  EXPECT_EQ(shards.Get(1, OuterIndex{2}, 100, kStart), nullptr);
  EXPECT_NE(shards.Get(1, OuterIndex{3}, 100, kStart), nullptr);
}

TEST(SupersededShardsTest, WhatCannotBeReadIsNotKept) {
  SupersededShards shards;
  shards.Put(1, OuterIndex{7}, std::make_shared<OpenShard>(), kStart);
  EXPECT_EQ(shards.size(), 0U);
}

}  // namespace
}  // namespace zarrfs::superseded_shards_test
