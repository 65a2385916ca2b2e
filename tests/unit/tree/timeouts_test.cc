#include "fs/tree/timeouts.h"

#include <gtest/gtest.h>

#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/clocks.h"

namespace zarrfs::timeouts_test {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TreeOptions Ttl(double seconds) {
  TreeOptions options;
  options.ttl = seconds;
  return options;
}

TreeOptions Immutable() {
  TreeOptions options;
  options.immutable = true;
  return options;
}

TEST(TimeoutsTest, NameLivesForATenthOfTheAgeWithinLimits) {
  const FakeStore store;
  const Timeouts timeouts({}, store);
  EXPECT_NEAR(timeouts.Name(RealNowNs() - 100 * kSecond, {}), 10, 0.1);
  EXPECT_NEAR(timeouts.Name(RealNowNs(), {}), 1, 0.1);
  EXPECT_NEAR(timeouts.Name(RealNowNs() + 100 * kSecond, {}), 1, 0.1) << "from the future";
  EXPECT_NEAR(timeouts.Name(0, {}), 60, 0.1);
  EXPECT_NEAR(timeouts.Absence({}), 1, 0.1);
}

// What passes between asking the store and answering the kernel comes off the name's life.
TEST(TimeoutsTest, CheckAndLifeOfANameTogetherAreNoLongerThanItsTtl) {
  const FakeStore store;
  const Timeouts by_age({}, store);
  EXPECT_LE(by_age.Absence({}) + std::chrono::duration<double>(by_age.check_age()).count(), 1.0);
  const Timeouts fixed(Ttl(30), store);
  EXPECT_LE(fixed.Name(0, {}) + std::chrono::duration<double>(fixed.check_age()).count(), 30.0);
  EXPECT_GT(fixed.Name(0, {}), 29);
}

TEST(TimeoutsTest, KnownAnswerHoldsForEverOnlyIfAllNamesCanBeInvalidated) {
  FakeStore store;
  store.SetCountsChanges(true);
  Timeouts timeouts({}, store);
  const Validity now = Validity::Watch(store, "");
  ASSERT_TRUE(now.Holds(store));
  EXPECT_LE(timeouts.Name(0, now), Timeouts::kMaxTtl) << "one by one";
  timeouts.set_can_invalidate_all(true);
  EXPECT_EQ(timeouts.Name(0, now), Timeouts::kForever);
  EXPECT_EQ(timeouts.Absence(now), Timeouts::kForever);
  EXPECT_LE(timeouts.Listed(timeouts.Name(0, now)), Timeouts::kMaxTtl);
  store.Put("a", "changed");
  EXPECT_LE(timeouts.Name(0, now), Timeouts::kMaxTtl) << "it has changed since";
}

TEST(TimeoutsTest, WhatIsImmutableHoldsForEver) {
  const FakeStore store;
  const Timeouts timeouts(Immutable(), store);
  EXPECT_EQ(timeouts.Absence({}), Timeouts::kForever);
  EXPECT_EQ(timeouts.Listed(timeouts.Name(RealNowNs(), {})), Timeouts::kForever);
  EXPECT_EQ(timeouts.check_age(), kAnyAge);
}

}  // namespace
}  // namespace zarrfs::timeouts_test
