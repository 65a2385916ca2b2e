#include "fs/tree/root_check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

namespace zarrfs::root_check_test {
namespace {

TEST(RootCheck, GivesTheAnswerOfTheStore) {
  std::optional<Error> answer;
  RootCheck check([&] { return answer; });
  EXPECT_EQ(check.Problem(), std::nullopt);
  answer = Error{ErrorCode::kPermissionDenied, "no"};
  ASSERT_TRUE(check.Problem());
  EXPECT_EQ(check.Problem()->message, "no");
}

TEST(RootCheck, SaysThatThereIsNoAnswerAndAsksOnce) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<int> asked = 0;
  RootCheck check([&]() -> std::optional<Error> {
    ++asked;
    released.wait();
    return std::nullopt;
  });
  for (int i = 0; i < 3; ++i) {
    const auto problem = check.Problem();
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->code, ErrorCode::kTimedOut);
    EXPECT_EQ(problem->message, "no answer for 0 s");
  }
  EXPECT_EQ(asked, 1);
  const std::jthread store([&] { release.set_value(); });
  while (check.Problem()) std::this_thread::yield();
}

}  // namespace
}  // namespace zarrfs::root_check_test
