#include "zarrcore/base/at_once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "zarrcore/base/waiting.h"

namespace zarrfs::at_once_test {
namespace {

TEST(AtOnce, EachNumberOnceAndNoMoreThreadsThanAllowed) {
  std::vector<std::atomic<int>> calls(100);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  AtOnce(calls.size(), 4, [&](size_t i) {
    int now = ++running;
    for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
    }
    ++calls[i];
    std::this_thread::yield();
    --running;
  });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  EXPECT_LE(most, 4);
  AtOnce(0, 4, [](size_t) { FAIL(); });
}

TEST(AtOnce, ExceptionIsPassedOnAndEndsTheRest) {
  EXPECT_THROW(AtOnce(100, 4, [](size_t) { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST(AtOnce, ThreadsInheritTheCancellationOfTheCaller) {
  const AbandonedIf scope([] { return true; });
  std::atomic<int> abandoned = 0;
  AtOnce(8, 4, [&](size_t) { abandoned += IsAbandoned() ? 1 : 0; });
  EXPECT_EQ(abandoned, 8);
}

}  // namespace
}  // namespace zarrfs::at_once_test
