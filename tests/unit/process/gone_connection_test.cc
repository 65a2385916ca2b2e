#include "fs/process/gone_connection.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using std::chrono::milliseconds;
using Step = GoneConnection::Step;

TEST(GoneConnection, TheWorkerIsKilledOnceAndThenLeftBehind) {
  const GoneConnection::Clock::time_point start{};
  GoneConnection gone;
  EXPECT_EQ(gone.Observe(true, start), Step::kNone);
  EXPECT_EQ(gone.Observe(true, start + milliseconds(2999)), Step::kNone);
  EXPECT_EQ(gone.Observe(true, start + milliseconds(3000)), Step::kKill);
  EXPECT_EQ(gone.Observe(true, start + milliseconds(4000)), Step::kNone);
  EXPECT_EQ(gone.Observe(true, start + milliseconds(5001)), Step::kLeaveBehind);
}

TEST(GoneConnection, AConnectionThatIsThereBeginsAnew) {
  const GoneConnection::Clock::time_point start{};
  GoneConnection gone;
  EXPECT_EQ(gone.Observe(true, start), Step::kNone);
  EXPECT_EQ(gone.Observe(false, start + milliseconds(4000)), Step::kNone);
  EXPECT_EQ(gone.Observe(true, start + milliseconds(5000)), Step::kNone);
  EXPECT_EQ(gone.Observe(true, start + milliseconds(8000)), Step::kKill);
}

}  // namespace
}  // namespace zarrfs
