#include "fs/tree/timeouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

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

// What a slow store was asked is used for half of the time, and names live for the other half.
TEST(TimeoutsTest, NamesOfASlowStoreLeaveHalfOfTheTimeToWhatItSaid) {
  FakeStore store;
  store.SetAnswersFast(false);
  const auto seconds = [](Age age) { return std::chrono::duration<double>(age).count(); };
  const Timeouts by_age({}, store);
  for (const double age : {0.0, 5.0, 30.0, 100.0, 1e6}) {
    const int64_t ctime_ns = RealNowNs() - static_cast<int64_t>(age * 1e9);
    const double life = std::clamp(age / 10, 1.0, 60.0);
    EXPECT_NEAR(by_age.Name(ctime_ns, {}), life / 2, 0.1);
    const double check =
        std::max(seconds(by_age.check_age()), seconds(by_age.reuse().For(ctime_ns)));
    EXPECT_NEAR(check, life / 2, 0.1);
  }
  const Timeouts fixed(Ttl(30), store);
  EXPECT_EQ(fixed.Name(0, {}), 15);
  EXPECT_EQ(seconds(fixed.check_age()), 15);
  EXPECT_EQ(fixed.reuse().For(0), Age{0}) << "no more than was asked for";
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
