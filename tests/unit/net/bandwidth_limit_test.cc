#include "zarrcore/net/bandwidth_limit.h"

#include <gtest/gtest.h>

namespace zarrfs::bandwidth_limit_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = BandwidthLimit::Clock::time_point;

constexpr Time kBegin{std::chrono::hours(1)};
constexpr uint64_t kRate = 1'000'000;

// Sends requests of this size as soon as they may be sent, for `time`. Returns the bytes of all.
uint64_t Send(BandwidthLimit& limit, uint64_t bytes, seconds time) {
  uint64_t sent = 0;
  for (Time now = kBegin; now < kBegin + time; now += milliseconds(1)) {
    while (limit.MayBegin(now)) {
      limit.Charge(bytes, now);
      sent += bytes;
    }
  }
  return sent;
}

TEST(BandwidthLimitTest, RequestsOfAnySizeStayWithinTheLimit) {
  for (const uint64_t bytes : {1'000, 100'000, 8'000'000}) {
    BandwidthLimit limit(kRate);
    const uint64_t sent = Send(limit, bytes, seconds(60));
    EXPECT_LE(sent, 61 * kRate + bytes) << bytes;
    EXPECT_GE(sent, 60 * kRate) << bytes;
  }
}

TEST(BandwidthLimitTest, WithoutALimitNothingWaits) {
  BandwidthLimit limit(0);
  for (int i = 0; i < 1000; ++i) limit.Charge(8'000'000, kBegin);
  limit.Correct(8'000'000, 100);
  EXPECT_TRUE(limit.MayBegin(kBegin));
}

TEST(BandwidthLimitTest, ARequestAfterAPauseDoesNotWaitAndALargeOneDelaysTheNext) {
  BandwidthLimit limit(kRate);
  ASSERT_TRUE(limit.MayBegin(kBegin));
  limit.Charge(8 * kRate, kBegin);
  EXPECT_FALSE(limit.MayBegin(kBegin + milliseconds(6999)));
  EXPECT_EQ(limit.next(), kBegin + seconds(7));
  const Time later = kBegin + seconds(600);
  ASSERT_TRUE(limit.MayBegin(later));
  limit.Charge(kRate, later);
  EXPECT_TRUE(limit.MayBegin(later)) << "one second's worth";
  limit.Charge(1000, later);
  EXPECT_FALSE(limit.MayBegin(later)) << "a pause of any length gives no more";
}

TEST(BandwidthLimitTest, OnlyReceivedBytesCount) {
  BandwidthLimit limit(kRate);
  limit.Charge(8 * kRate, kBegin);
  limit.Correct(8 * kRate, 2 * kRate);
  EXPECT_EQ(limit.next(), kBegin + seconds(1));
  limit.Correct(0, kRate);
  EXPECT_EQ(limit.next(), kBegin + seconds(2)) << "more than was requested";
}

}  // namespace
}  // namespace zarrfs::bandwidth_limit_test
