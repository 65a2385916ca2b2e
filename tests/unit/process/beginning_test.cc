#include "fs/process/beginning.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>

namespace zarrfs::beginning_test {
namespace {

using Step = Beginning::Step;

// As waitpid(2) has them.
constexpr int kExit127 = 127 << 8;

class BeginningTest : public testing::Test {
 protected:
  Step Tick(int times) {
    Step step = Step::kNone;
    for (int i = 0; i < times; ++i) step = beginning_.Tick();
    return step;
  }

  const std::string mountpoint_ = "/mnt/ocean";
  Beginning beginning_{mountpoint_, "fetcher"};
};

TEST_F(BeginningTest, ProgramThatEndsBeforeItRunsHasFailedOnce) {
  beginning_.OnStart(/*executes=*/true);
  beginning_.OnEnd(kExit127);
  EXPECT_TRUE(beginning_.HasFailed());
  EXPECT_FALSE(beginning_.HasFailed());
}

TEST_F(BeginningTest, ProgramThatRanHasNotFailed) {
  beginning_.OnStart(/*executes=*/true);
  beginning_.OnBegun();
  EXPECT_EQ(Tick(100), Step::kNone);
  beginning_.OnEnd(kExit127);
  EXPECT_FALSE(beginning_.HasFailed());
}

TEST_F(BeginningTest, CopyHasNoProgramThatCouldFail) {
  beginning_.OnStart(/*executes=*/false);
  EXPECT_EQ(Tick(100), Step::kNone);
  beginning_.OnEnd(kExit127);
  EXPECT_FALSE(beginning_.HasFailed());
}

TEST_F(BeginningTest, ProgramThatHangsIsKilledAfterTenSecondsAndThenLeftBehind) {
  beginning_.OnStart(/*executes=*/true);
  EXPECT_EQ(Tick(9), Step::kNone);
  EXPECT_EQ(Tick(1), Step::kKill);
  EXPECT_EQ(Tick(1), Step::kNone);
  EXPECT_EQ(Tick(1), Step::kLeaveBehind);
  beginning_.OnEnd(std::nullopt);
  EXPECT_TRUE(beginning_.HasFailed());
}

TEST_F(BeginningTest, KillBySomebodyElseSaysNothingAboutTheProgram) {
  beginning_.OnStart(/*executes=*/true);
  EXPECT_EQ(Tick(9), Step::kNone);
  beginning_.OnEnd(SIGKILL);
  EXPECT_FALSE(beginning_.HasFailed());
  beginning_.OnStart(/*executes=*/true);
  EXPECT_EQ(Tick(10), Step::kKill);
  beginning_.OnEnd(SIGKILL);
  EXPECT_TRUE(beginning_.HasFailed()) << "this one was ours";
}

}  // namespace
}  // namespace zarrfs::beginning_test
