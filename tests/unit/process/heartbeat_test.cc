#include "fs/process/heartbeat.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class HeartbeatTest : public testing::Test {
 protected:
  // Ticks once a second.
  void Pass(int count) {
    for (int i = 0; i < count; ++i) heartbeat_.OnTick(now_ += seconds(1));
  }

  Heartbeat heartbeat_;
  Heartbeat::Clock::time_point now_{};
};

TEST_F(HeartbeatTest, IsReadAsItWasWritten) {
  const Beat beat{.taken = UINT64_MAX, .answered = 3, .oldest_ms = 0, .free_threads = 12};
  EXPECT_EQ(ParseBeat(ToText(beat)), beat);
  for (const char* const text : {"", "1 2 3", "1 2 3 4 5", "1 2 3 4 ", " 1 2 3 4", "1 2 3 -4",
                                 "1,2,3,4", "1 2 3 18446744073709551616"}) {
    EXPECT_EQ(ParseBeat(text), std::nullopt) << text;
  }
}

TEST_F(HeartbeatTest, WorkerIsSilentAfterThreeMissedBeatsAndWellWithTheNext) {
  Pass(60);
  EXPECT_EQ(heartbeat_.Alarm(), "") << "it has not begun";
  heartbeat_.OnBeat({});
  Pass(15);
  EXPECT_EQ(heartbeat_.News(), std::nullopt);
  Pass(1);
  EXPECT_EQ(heartbeat_.Alarm(), "silent: no heartbeat for 16 s, so it is stopped or hangs");
  EXPECT_EQ(heartbeat_.News(), heartbeat_.Alarm());
  Pass(100);
  EXPECT_EQ(heartbeat_.News(), std::nullopt) << "said once";
  EXPECT_EQ(heartbeat_.Alarm(), "silent: no heartbeat for 116 s, so it is stopped or hangs");
  heartbeat_.OnBeat({});
  EXPECT_EQ(heartbeat_.Alarm(), "");
  EXPECT_EQ(heartbeat_.News(), "well again");
}

TEST_F(HeartbeatTest, SuspendedMachineIsNoAlarm) {
  heartbeat_.OnBeat({});
  Pass(5);
  now_ += hours(8);
  Pass(8);
  EXPECT_EQ(heartbeat_.Alarm(), "");
}

TEST_F(HeartbeatTest, WorkerThatAnswersNothingWithFreeThreadsIsStuck) {
  heartbeat_.OnBeat({.taken = 9, .answered = 7, .oldest_ms = 4000, .free_threads = 14});
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(heartbeat_.Alarm(), "");
    heartbeat_.OnBeat(
        {.taken = 9 + i, .answered = 7, .oldest_ms = 4000 + i * 5000, .free_threads = 14});
  }
  EXPECT_EQ(heartbeat_.Alarm(),
            "stuck: 5 requests wait, the oldest for 19 s, and 14 threads are free");
  heartbeat_.OnBeat({.taken = 13, .answered = 8, .oldest_ms = 1000, .free_threads = 14});
  EXPECT_EQ(heartbeat_.Alarm(), "") << "one was answered";
}

TEST_F(HeartbeatTest, WorkerWithNothingToDoOrNoFreeThreadIsNotStuck) {
  for (int i = 0; i < 9; ++i) heartbeat_.OnBeat({.taken = 7, .answered = 7, .free_threads = 16});
  EXPECT_EQ(heartbeat_.Alarm(), "");
  for (int i = 0; i < 9; ++i) heartbeat_.OnBeat({.taken = 23, .answered = 7, .free_threads = 0});
  EXPECT_EQ(heartbeat_.Alarm(), "");
}

TEST_F(HeartbeatTest, AnotherWorkerIsWatchedFromItsFirstBeatOn) {
  heartbeat_.OnBeat({});
  Pass(20);
  EXPECT_NE(heartbeat_.Alarm(), "");
  heartbeat_.Reset();
  Pass(60);
  EXPECT_EQ(heartbeat_.Alarm(), "");
}

}  // namespace
}  // namespace zarrfs
