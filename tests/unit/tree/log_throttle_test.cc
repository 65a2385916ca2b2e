#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fs/tree/failure_log.h"

namespace zarrfs::log_throttle_test {
namespace {

using std::chrono::seconds;
using Lines = std::vector<std::string>;
constexpr LogThrottle::Clock::time_point kStart{std::chrono::hours(1)};

struct Fixture {
  Lines said;
  LogThrottle repeats{[this](std::string_view line) { said.emplace_back(line); }};

  [[nodiscard]] Lines Take() { return std::exchange(said, {}); }
};

TEST(RepeatsTest, AThousandTimesIsOneLineAndLaterASummary) {
  Fixture fixture;
  for (int i = 0; i < 1000; ++i) fixture.repeats.Report("a/c/0", "a/c/0: refused", kStart);
  EXPECT_EQ(fixture.Take(), Lines{"a/c/0: refused"});
  EXPECT_EQ(fixture.repeats.Sweep(kStart + seconds(59)), kStart + seconds(60));
  EXPECT_EQ(fixture.Take(), Lines{});
  EXPECT_EQ(fixture.repeats.Sweep(kStart + seconds(60)), LogThrottle::Clock::time_point::max());
  EXPECT_EQ(fixture.Take(), Lines{"a/c/0: refused: 999 times more"});
  fixture.repeats.Sweep(kStart + seconds(3600));
  EXPECT_EQ(fixture.Take(), Lines{}) << "nothing happened since";
}

TEST(RepeatsTest, SummariesOfAnObjectAreAMinuteApart) {
  Fixture fixture;
  for (int second = 0; second <= 600; ++second) {
    fixture.repeats.Report("a", "a: refused", kStart + seconds(second));
  }
  const Lines said = fixture.Take();
  ASSERT_EQ(said.size(), 11U);
  for (size_t i = 1; i < said.size(); ++i) EXPECT_EQ(said[i], "a: refused: 60 times more");
}

TEST(RepeatsTest, EachObjectHasItsOwnLine) {
  Fixture fixture;
  for (int i = 0; i < 3; ++i) {
    fixture.repeats.Report("a", "a: refused", kStart);
    fixture.repeats.Report("b", "b: refused", kStart);
  }
  EXPECT_EQ(fixture.Take(), (Lines{"a: refused", "b: refused"}));
}

TEST(RepeatsTest, WhatIsToldAndCountedIsNoRepeat) {
  Fixture fixture;
  fixture.repeats.Report("a", "a: damaged", kStart, /*told_elsewhere=*/true);
  fixture.repeats.Count("a", "a: damaged", kStart);
  EXPECT_EQ(fixture.Take(), Lines{"a: damaged"});
  for (int i = 0; i < 999; ++i) fixture.repeats.Count("a", "a: damaged", kStart + seconds(30));
  EXPECT_EQ(fixture.Take(), Lines{});
  fixture.repeats.Sweep(kStart + seconds(60));
  EXPECT_EQ(fixture.Take(), Lines{"a: damaged: 999 times more"});
}

TEST(RepeatsTest, VeryManyObjectsAreCountedTogether) {
  Fixture fixture;
  for (size_t i = 0; i < LogThrottle::kMaxObjects + 5000; ++i) {
    const std::string object = "a/c/" + std::to_string(i);
    fixture.repeats.Report(object, object + ": refused", kStart);
  }
  EXPECT_EQ(fixture.Take().size(), LogThrottle::kMaxObjects);
  fixture.repeats.Sweep(kStart + seconds(60));
  EXPECT_EQ(fixture.Take(), Lines{"5000 more messages, about other objects"});
  fixture.repeats.Report("new", "new: refused", kStart + seconds(61));
  EXPECT_EQ(fixture.Take(), Lines{"new: refused"}) << "the oldest makes room";
}

TEST(RepeatsTest, MessagesBeginWithTheirObject) {
  EXPECT_EQ(ObjectOf("a/c/0/1: checksum 1, computed 2"), "a/c/0/1");
  EXPECT_EQ(ObjectOf("not shown: a/zarr.json: no JSON"), "a/zarr.json");
  EXPECT_EQ(ObjectOf("no object at all"), "no object at all");
}

}  // namespace
}  // namespace zarrfs::log_throttle_test
