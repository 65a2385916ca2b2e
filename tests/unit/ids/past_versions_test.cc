#include "fs/ids/past_versions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "fs/ids/epoch_table.h"

namespace zarrfs::past_versions_test {
namespace {

using Version = std::optional<ObjectVersion>;

TEST(PastVersions, TheOldestOfAllObjectsIsGivenUpFirst) {
  PastVersions past(3);
  for (uint32_t i = 0; i < 4; ++i) past.Add({1, i}, 7, {100 + i, i});
  EXPECT_EQ(past.size(), 3U);
  EXPECT_EQ(past.Find({1, 0}, 7), std::nullopt);
  for (uint32_t i = 1; i < 4; ++i) {
    EXPECT_EQ(past.Find({1, i}, 7), (Version{{100 + i, i}})) << i;
  }
  EXPECT_EQ(past.Find({2, 3}, 7), std::nullopt) << "of another array";
  EXPECT_EQ(past.Find({1, 3}, 8), std::nullopt) << "another version";
}

TEST(PastVersions, AnEpochOfAnInodeIsTheNewestThatHasItsBits) {
  PastVersions past(100);
  past.Add({0, 5}, 1, {100, 1});
  past.Add({0, 5}, 1 + kEpochs, {200, 2});
  EXPECT_EQ(past.Find({0, 5}, 1), (Version{{200, 2}}));
}

TEST(PastVersions, AMillionTakesLittleMemoryHoweverManyFollow) {
  PastVersions past(PastVersions::kMax);
  EXPECT_EQ(past.bytes(), 0U);
  constexpr uint64_t kAll = 2 * PastVersions::kMax + 12'345;
  for (uint64_t i = 0; i < kAll; ++i) {
    past.Add({3, i % 1000}, static_cast<uint32_t>(i / 1000), {i, 9});
  }
  EXPECT_EQ(past.size(), PastVersions::kMax);
  EXPECT_LE(past.bytes(), 48'000'000U);
  const auto find = [&](uint64_t i) {
    return past.Find({3, i % 1000}, static_cast<uint16_t>(i / 1000 % kEpochs));
  };
  for (uint64_t i = kAll - PastVersions::kMax; i < kAll; i += 37) {
    ASSERT_EQ(find(i), (Version{{i, 9}})) << i;
  }
  EXPECT_EQ(find(kAll - PastVersions::kMax - 1), std::nullopt);
  EXPECT_EQ(find(0), std::nullopt);
}

TEST(EpochTable, KeepsTheFingerprintAndTheStepOfEachVersion) {
  EpochTable table;
  EXPECT_EQ(table.Observe(5, 100, 1), 0U);
  EXPECT_EQ(table.Observe(6, 100, 2), 0U);
  EXPECT_EQ(table.Observe(5, 100, 3), 0U);
  EXPECT_EQ(table.Observe(5, 200, 4), 1U);
  EXPECT_EQ(table.Observe(5, 300, 7), 2U);
  EXPECT_EQ(table.VersionOf(5, 0), (Version{{100, 1}})) << "where it was seen first";
  EXPECT_EQ(table.VersionOf(5, 1), (Version{{200, 4}}));
  EXPECT_EQ(table.VersionOf(5, 2), (Version{{300, 7}}));
  EXPECT_EQ(table.VersionOf(5, 3), std::nullopt);
  EXPECT_EQ(table.VersionOf(6, 0), (Version{{100, 2}}));
  EXPECT_EQ(table.VersionOf(7, 0), std::nullopt);
}

TEST(EpochTable, TablesOfAMountShareOneLimit) {
  const auto usage = std::make_shared<EpochTable::Usage>(2);
  EpochTable one(16, usage, nullptr, 1);
  EpochTable other(16, usage, nullptr, 2);
  for (uint64_t version = 0; version < 3; ++version) {
    one.Observe(0, 10 + version);
    other.Observe(0, 20 + version);
  }
  EXPECT_EQ(one.VersionOf(0, 0), std::nullopt);
  EXPECT_EQ(other.VersionOf(0, 0), std::nullopt);
  EXPECT_EQ(one.VersionOf(0, 1), (Version{{11, 0}}));
  EXPECT_EQ(other.VersionOf(0, 1), (Version{{21, 0}}));
  EXPECT_EQ(other.VersionOf(0, 2), (Version{{22, 0}})) << "the current one";
}

TEST(EpochTable, AVersionOfThePreviousProcessHasNoStepUntilItIsSeen) {
  EpochTable table;
  table.Inherit({.table = 0, .epoch = 4, .object = 9, .fingerprint = 100});
  EXPECT_EQ(table.VersionOf(9, 4), (Version{{100, 0}}));
  EXPECT_EQ(table.Observe(9, 100, 8), 4U);
  EXPECT_EQ(table.VersionOf(9, 4), (Version{{100, 8}}));
}

}  // namespace
}  // namespace zarrfs::past_versions_test
