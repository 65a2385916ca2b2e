#include "zarrcore/base/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zarrfs::memory_budget_test {
namespace {

using Share = MemoryBudget::Share;

constexpr uint64_t kLimit = uint64_t{1} << 30;

bool Never() { return false; }

ErrorCode CodeOf(const Result<Share>& taken) {
  return taken ? ErrorCode::kNotFound : taken.error().code;
}

TEST(MemoryBudget, ShareIsGivenBackWhenItIsDestroyed) {
  MemoryBudget budget(kLimit);
  {
    auto first = budget.Take(600);
    auto second = budget.Take(400);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(budget.used(), 1000U);
    first->ShrinkTo(100);
    EXPECT_EQ(budget.used(), 500U);
    second->Add(std::move(*first));
    EXPECT_EQ(second->bytes(), 500U);
    *first = Share();
    EXPECT_EQ(budget.used(), 500U);
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryBudget, ARequestThatCanNeverFitIsTooLargeAndNamesTheOption) {
  MemoryBudget budget(kLimit);
  const auto taken = budget.Take(kLimit + MemoryBudget::kSlack + 1);
  ASSERT_EQ(CodeOf(taken), ErrorCode::kTooLarge);
  EXPECT_NE(taken.error().message.find("memory=1073741824"), std::string::npos)
      << taken.error().message;
  const auto more = budget.Take(MemoryBudget::kSlack + 1, kLimit);
  EXPECT_EQ(CodeOf(more), ErrorCode::kTooLarge) << "with what its taker holds";
}

TEST(MemoryBudget, WithoutALimitEverythingFits) {
  MemoryBudget budget;
  const auto half = budget.Take(UINT64_MAX / 2);
  EXPECT_TRUE(half);
}

TEST(MemoryBudget, HoldersEvictBeforeARequestIsRefused) {
  MemoryBudget budget(kLimit);
  std::vector<Share> cache;
  std::vector<uint64_t> asked;
  const MemoryBudget::Holder first(budget, [&](uint64_t missing) { asked.push_back(missing); });
  const MemoryBudget::Holder second(budget, [&](uint64_t missing) {
    asked.push_back(missing);
    cache.clear();
  });
  cache.push_back(*budget.Take(kLimit - 10));
  EXPECT_TRUE(budget.Take(10));
  EXPECT_EQ(asked, std::vector<uint64_t>()) << "there was room";
  EXPECT_TRUE(budget.Take(100));
  EXPECT_EQ(asked, (std::vector<uint64_t>{90, 90})) << "one after the other";
}

TEST(MemoryBudget, ASmallerLimitMakesHoldersEvict) {
  MemoryBudget budget(kLimit);
  Share cached = *budget.Take(1000);
  const MemoryBudget::Holder holder(budget,
                                    [&](uint64_t missing) { cached.ShrinkTo(1000 - missing); });
  budget.SetLimit(300);
  EXPECT_EQ(budget.used(), 300U);
}

TEST(MemoryBudget, AFullBudgetRefusesWithoutWaiting) {
  MemoryBudget budget(kLimit);
  const auto most = budget.Take(kLimit - 10);
  EXPECT_EQ(CodeOf(budget.Take(11)), ErrorCode::kWouldBlock);
}

TEST(MemoryBudget, AloneARequestGetsAllAndALittleMore) {
  MemoryBudget budget(kLimit);
  const uint64_t most = kLimit + MemoryBudget::kSlack;
  EXPECT_EQ(CodeOf(budget.Take(most)), ErrorCode::kWouldBlock);
  const MemoryBudget::Alone alone(budget, Never);
  ASSERT_TRUE(alone.granted());
  EXPECT_TRUE(budget.Take(most));
}

TEST(MemoryBudget, AloneWaitsForHoldersAndKeepsOthersFromTakingMemory) {
  MemoryBudget budget(kLimit);
  std::promise<void> may_end;
  std::promise<void> has_taken;
  std::thread worker([&] {
    const MemoryBudget::Work work(budget);
    const auto taken = budget.Take(kLimit / 2);
    EXPECT_TRUE(taken);
    has_taken.set_value();
    may_end.get_future().wait();
    EXPECT_TRUE(budget.Take(kLimit / 4)) << "it goes on, and ends";
  });
  has_taken.get_future().wait();
  std::promise<void> waits;
  std::atomic<bool> is_waiting = false;
  auto alone = std::async(std::launch::async, [&] {
    const MemoryBudget::Alone turn(budget, [&] {
      if (!is_waiting.exchange(true)) waits.set_value();
      return false;
    });
    return turn.granted() && budget.Take(kLimit).has_value();
  });
  waits.get_future().wait();
  {
    const MemoryBudget::Work work(budget);
    EXPECT_EQ(CodeOf(budget.Take(kLimit / 4)), ErrorCode::kWouldBlock) << "another was first";
    EXPECT_TRUE(budget.Take(kLimit / MemoryBudget::kSmallPart)) << "a little is no matter";
  }
  EXPECT_EQ(alone.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  may_end.set_value();
  worker.join();
  EXPECT_TRUE(alone.get());
}

TEST(MemoryBudget, WaitersAreServedInOrderAndMayStopWaiting) {
  MemoryBudget budget(kLimit);
  std::mutex mutex;
  std::string order;
  std::vector<std::thread> threads;
  std::atomic<int> queued = 0;
  {
    const MemoryBudget::Alone first(budget, Never);
    for (const char name : {'a', 'b', 'c'}) {
      const int before = queued;
      threads.emplace_back([&, name] {
        bool has_looked = false;
        const MemoryBudget::Alone turn(budget, [&] {
          if (!std::exchange(has_looked, true)) ++queued;
          return name == 'b' && queued == 3;  // abandoned once all three wait
        });
        const std::lock_guard lock(mutex);
        order += turn.granted() ? name : static_cast<char>(name - 'a' + 'A');
      });
      while (queued == before) std::this_thread::yield();
    }
    while (true) {
      const std::lock_guard lock(mutex);
      if (order == "B") break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "Bac");
}

// Every request takes two shares, like a read that loads an index and then decodes a chunk, and
// holds the first share while it takes the second.
TEST(MemoryBudget, RequestsThatTogetherExceedTheLimitAllEnd) {
  MemoryBudget budget(kLimit);
  std::atomic<uint64_t> held = 0;
  std::atomic<uint64_t> most_held = 0;
  const auto work = [&] {
    const auto index = budget.Take(kLimit / 3);
    if (!index) return false;
    held += kLimit / 3;
    const auto chunk = budget.Take(kLimit / 2);
    if (chunk) {
      const uint64_t now = held += kLimit / 2;
      uint64_t before = most_held;
      while (before < now && !most_held.compare_exchange_weak(before, now)) {
      }
      std::this_thread::yield();
      held -= kLimit / 2;
    }
    held -= kLimit / 3;
    return chunk.has_value();
  };
  std::vector<std::thread> threads;
  std::atomic<int> done = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        bool is_done = false;
        {
          const MemoryBudget::Work scope(budget);
          is_done = work();
        }
        if (!is_done) {
          const MemoryBudget::Alone alone(budget, Never);
          const MemoryBudget::Work scope(budget);
          is_done = work();
        }
        done += is_done ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 8 * 50);
  EXPECT_LE(most_held, kLimit);
  EXPECT_EQ(budget.used(), 0U);
}

}  // namespace
}  // namespace zarrfs::memory_budget_test
