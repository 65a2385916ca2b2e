#include "fs/process/worker_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "fs/options/log.h"

namespace zarrfs {
namespace {

using std::chrono::seconds;

class WorkerLogTest : public testing::Test {
 protected:
  WorkerLogTest() : worker_(log_.Open()) { LogToStderr("info"); }
  void Write(const std::string& packet) const {
    EXPECT_EQ(write(worker_.get(), packet.data(), packet.size()),
              static_cast<ssize_t>(packet.size()));
  }
  std::string Take() {
    testing::internal::CaptureStderr();
    log_.Take(now_);
    return testing::internal::GetCapturedStderr();
  }

  const std::string mountpoint_ = "/mnt";
  WorkerLog log_{mountpoint_};
  Descriptor worker_;
  WorkerLog::Clock::time_point now_{seconds(100)};
};

// Of a whole process, as workers log.
TEST_F(WorkerLogTest, LinesOfAnotherProcessAreLogged) {
  const pid_t worker = fork();
  if (worker == 0) {
    LogToPipe(std::move(worker_));
    spdlog::warn("shard a/c/0:\n no end");
    spdlog::debug("not at this level");
    spdlog::info("{}", std::string(10000, 'x'));
    _exit(0);
  }
  waitpid(worker, nullptr, 0);
  const std::string text = Take();
  EXPECT_TRUE(text.starts_with("zarrfs: shard a/c/0:")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
  EXPECT_EQ(text.find("level"), std::string::npos) << text;
  const auto x = static_cast<size_t>(std::ranges::count(text, 'x'));
  EXPECT_TRUE(x > kMaxLogLine - 50 && x <= kMaxLogLine) << x;
}

TEST_F(WorkerLogTest, LinesBeyondTwoHundredASecondAreCounted) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    Write("3 1 0 line");
    text += Take();
  }
  EXPECT_EQ(std::ranges::count(text, '\n'), 200);
  Write("3 1 7 the next second");
  now_ += seconds(1);
  EXPECT_EQ(Take(),
            "zarrfs: /mnt: 100 lines of the worker's log were dropped\n"
            "zarrfs: the next second\n");
  now_ += seconds(1);
  EXPECT_EQ(Take(), "zarrfs: /mnt: 7 lines of the worker's log were dropped\n");
  EXPECT_EQ(Take(), "");
}

TEST_F(WorkerLogTest, WhatIsNoLineIsNotLogged) {
  for (const char* const packet : {"x", "3", "3 1", "3 1 0", "-1 1 0 x", "6 1 0 x", "3 1 -1 x",
                                   "99999999999 1 0 x", " 3 1 0 x"}) {
    Write(packet);
  }
  EXPECT_EQ(Take(), "");
  Write("3 1 0 a\x1b[2J\nb");
  const std::string text = Take();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

TEST_F(WorkerLogTest, WorkerNeverWaitsAndSaysHowManyLinesItLost) {
  const pid_t worker = fork();
  if (worker == 0) {
    LogToPipe(std::move(worker_));
    for (int i = 0; i < 5000; ++i) spdlog::warn("line");
    _exit(0);
  }
  int status = -1;
  waitpid(worker, &status, 0);  // though nobody reads
  EXPECT_EQ(status, 0);
  EXPECT_NE(Take(), "");
}

// The end of a pipe that nobody reads.
TEST_F(WorkerLogTest, KeeperDoesNotWaitForWhoReadsTheLog) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const int kept = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  const std::string line = "3 1 0 " + std::string(2000, 'x');
  for (int i = 0; i < 100; ++i) {
    Write(line);
    log_.Take(now_);
  }
  EXPECT_FALSE(CanLog());
  dup2(kept, STDERR_FILENO);
  for (const int each : {kept, ends[0], ends[1]}) close(each);
  now_ += seconds(1);
  EXPECT_NE(Take().find(" lines of the worker's log were dropped"), std::string::npos);
}

TEST_F(WorkerLogTest, EndsWithTheWorker) {
  Write("3 1 0 the last");
  worker_.reset();
  EXPECT_EQ(Take(), "zarrfs: the last\n");
  EXPECT_EQ(log_.fd(), -1);
}

}  // namespace
}  // namespace zarrfs
