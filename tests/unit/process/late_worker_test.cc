#include "fs/process/late_worker.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using std::chrono::milliseconds;
using Step = LateWorker::Step;

TEST(LateWorker, TheWorkerIsKilledOnceAndThenLeftBehind) {
  const LateWorker::Clock::time_point start{};
  LateWorker late;
  EXPECT_EQ(late.Observe(true, start), Step::kNone);
  EXPECT_EQ(late.Observe(true, start + milliseconds(2999)), Step::kNone);
  EXPECT_EQ(late.left(start + milliseconds(2999)), milliseconds(1));
  EXPECT_EQ(late.Observe(true, start + milliseconds(3000)), Step::kKill);
  EXPECT_EQ(late.left(start + milliseconds(4000)), std::nullopt);
  EXPECT_EQ(late.Observe(true, start + milliseconds(4000)), Step::kNone);
  EXPECT_EQ(late.Observe(true, start + milliseconds(5001)), Step::kLeaveBehind);
}

TEST(LateWorker, AWorkerThatIsNotToEndBeginsAnew) {
  const LateWorker::Clock::time_point start{};
  LateWorker late;
  EXPECT_EQ(late.Observe(true, start), Step::kNone);
  EXPECT_EQ(late.Observe(false, start + milliseconds(4000)), Step::kNone);
  EXPECT_EQ(late.Observe(true, start + milliseconds(5000)), Step::kNone);
  EXPECT_EQ(late.Observe(true, start + milliseconds(8000)), Step::kKill);
}

}  // namespace
}  // namespace zarrfs
