#include "zarrcore/base/lru_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace zarrfs::lru_cache_test {
namespace {

using Cache = LruCache<int, std::string>;

Cache::ValuePtr Value(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// With one split, the order of evictions does not depend on the hash.
struct LruCacheTest : testing::Test {
  Cache cache{10, 1};
};

TEST_F(LruCacheTest, LeastRecentlyUsedGoesFirst) {
  cache.Put(1, Value("one"), 4);
  cache.Put(2, Value("two"), 4);
  ASSERT_NE(cache.Get(1), nullptr);
  cache.Put(3, Value("three"), 4);
  EXPECT_NE(cache.Get(1), nullptr);
  EXPECT_EQ(cache.Get(2), nullptr);
  EXPECT_NE(cache.Get(3), nullptr);
  EXPECT_EQ(cache.statistics().evictions, 1U);
}

TEST_F(LruCacheTest, ChargesBytesAndNotEntries) {
  for (int key = 0; key < 10; ++key) cache.Put(key, Value("small"), 1);
  EXPECT_EQ(cache.statistics().entries, 10U);
  EXPECT_EQ(cache.statistics().bytes, 10U);
  cache.Put(10, Value("large"), 8);
  EXPECT_EQ(cache.statistics().entries, 3U);
  EXPECT_EQ(cache.statistics().bytes, 10U);
}

TEST_F(LruCacheTest, AValueLargerThanTheCacheIsReturnedAndNotKept) {
  cache.Put(1, Value("one"), 4);
  int loads = 0;
  const auto load = [&]() -> Result<Cache::Loaded> {
    ++loads;
    return Cache::Loaded{Value("huge"), 11};
  };
  {
    const auto huge = cache.GetOrLoad(2, load);
    EXPECT_EQ(**huge, "huge");
    EXPECT_EQ(cache.Get(2), *huge) << "while somebody holds it";
    EXPECT_EQ(*cache.GetOrLoad(2, load), *huge);
    EXPECT_EQ(loads, 1);
    EXPECT_EQ(cache.statistics().bytes, 4U);
  }
  EXPECT_EQ(cache.Get(2), nullptr);
  EXPECT_EQ(*cache.Get(1), "one") << "makes room for nothing";
  const auto held = cache.GetOrLoad(2, load);
  cache.Erase(2);
  EXPECT_EQ(cache.Get(2), nullptr);
  cache.Put(1, Value("huge"), 11);
  EXPECT_EQ(cache.Get(1), nullptr) << "nor is the old one kept";
  EXPECT_EQ(cache.statistics().bytes, 0U);
}

TEST(LruCacheSplitTest, OneEntryMayUseTheCapacityOfAllSplits) {
  LruCache<int, int> cache(160, 16);
  for (int key = 0; key < 160; ++key) cache.Put(key, std::make_shared<const int>(key), 1);
  EXPECT_EQ(cache.statistics().entries, 160U);
  cache.Put(1000, std::make_shared<const int>(0), 150);
  EXPECT_NE(cache.Get(1000), nullptr);
  EXPECT_EQ(cache.statistics().bytes, 160U);
  cache.Put(1001, std::make_shared<const int>(0), 160);
  EXPECT_NE(cache.Get(1001), nullptr);
  EXPECT_EQ(cache.statistics().entries, 1U);
}

TEST_F(LruCacheTest, ReplacingAnEntryGivesBackItsCharge) {
  cache.Put(1, Value("old"), 9);
  cache.Put(1, Value("new"), 2);
  EXPECT_EQ(*cache.Get(1), "new");
  EXPECT_EQ(cache.statistics().bytes, 2U);
  EXPECT_EQ(cache.statistics().entries, 1U);
}

TEST_F(LruCacheTest, ValueOutlivesItsEviction) {
  cache.Put(1, Value("one"), 10);
  const Cache::ValuePtr held = cache.Get(1);
  cache.Put(2, Value("two"), 10);
  EXPECT_EQ(cache.Get(1), nullptr);
  EXPECT_EQ(*held, "one");
}

TEST_F(LruCacheTest, EraseOfAnotherValueKeepsTheEntry) {
  cache.Put(1, Value("one"), 1);
  cache.Erase(1, Value("one"));
  EXPECT_NE(cache.Get(1), nullptr);
  cache.Erase(1, cache.Get(1));
  EXPECT_EQ(cache.Get(1), nullptr);
  EXPECT_EQ(cache.statistics().bytes, 0U);
}

TEST_F(LruCacheTest, ClearRemovesEveryEntry) {
  cache.Put(1, Value("one"), 1);
  cache.Put(2, Value("two"), 1);
  cache.Clear();
  EXPECT_EQ(cache.Get(1), nullptr);
  EXPECT_EQ(cache.statistics().entries, 0U);
  EXPECT_EQ(cache.statistics().bytes, 0U);
}

TEST_F(LruCacheTest, CapacityCanBeChangedAndHoldsAtOnce) {
  cache.Put(1, Value("one"), 4);
  cache.Put(2, Value("two"), 4);
  cache.SetCapacity(5);
  EXPECT_EQ(cache.Get(1), nullptr);
  EXPECT_NE(cache.Get(2), nullptr);
  EXPECT_EQ(cache.statistics().bytes, 4U);
  cache.SetCapacity(12);
  cache.Put(3, Value("three"), 4);
  cache.Put(4, Value("four"), 4);
  EXPECT_EQ(cache.statistics().entries, 3U);
}

TEST_F(LruCacheTest, EraseIfRemovesMatchingEntries) {
  cache.Put(1, Value("one"), 1);
  cache.Put(2, Value("two"), 2);
  cache.Put(3, Value("three"), 4);
  cache.EraseIf([](int key, const std::string& value) { return key == 1 || value == "three"; });
  EXPECT_EQ(cache.Get(1), nullptr);
  EXPECT_EQ(*cache.Get(2), "two");
  EXPECT_EQ(cache.Get(3), nullptr);
  EXPECT_EQ(cache.statistics().entries, 1U);
  EXPECT_EQ(cache.statistics().bytes, 2U);
}

TEST_F(LruCacheTest, LoadsOnceAndThenAnswersFromMemory) {
  int loads = 0;
  const auto load = [&]() -> Result<Cache::Loaded> {
    ++loads;
    return Cache::Loaded{Value("one"), 1};
  };
  EXPECT_EQ(**cache.GetOrLoad(1, load), "one");
  EXPECT_EQ(**cache.GetOrLoad(1, load), "one");
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(cache.statistics().hits, 1U);
  EXPECT_EQ(cache.statistics().misses, 1U);
}

TEST_F(LruCacheTest, LookingBeforeALoadIsNoSecondMiss) {
  EXPECT_EQ(cache.Get(1), nullptr);
  EXPECT_TRUE(cache.GetOrLoad(1, [] { return Result<Cache::Loaded>({Value("one"), 1}); }));
  EXPECT_NE(cache.Get(1), nullptr);
  EXPECT_EQ(cache.statistics().misses, 1U);
  EXPECT_EQ(cache.statistics().hits, 1U);
}

TEST(LruCacheStatisticsTest, LimitIsTheCapacity) {
  const LruCache<int, int> cache(1000, 16);
  EXPECT_EQ(cache.statistics().limit, 1000U);
}

TEST_F(LruCacheTest, FailedLoadIsTriedAgain) {
  const auto fail = []() -> Result<Cache::Loaded> { return Fail(ErrorCode::kIo, "no"); };
  EXPECT_EQ(cache.GetOrLoad(1, fail).error().message, "no");
  EXPECT_EQ(cache.statistics().entries, 0U);
  const auto load = []() -> Result<Cache::Loaded> { return Cache::Loaded{Value("one"), 1}; };
  EXPECT_EQ(**cache.GetOrLoad(1, load), "one");
}

TEST_F(LruCacheTest, LoaderMayUseTheCacheForOtherKeys) {
  const auto inner = []() -> Result<Cache::Loaded> { return Cache::Loaded{Value("inner"), 1}; };
  const auto outer = [&]() -> Result<Cache::Loaded> {
    return Cache::Loaded{Value("outer of " + **cache.GetOrLoad(2, inner)), 1};
  };
  EXPECT_EQ(**cache.GetOrLoad(1, outer), "outer of inner");
}

// A load that 16 threads request concurrently. It ends when the test calls End().
struct SlowLoad {
  static constexpr uint64_t kThreads = 16;

  explicit SlowLoad(Cache& cache, Result<Cache::Loaded> with) : cache_(cache) {
    for (uint64_t i = 0; i < kThreads; ++i) {
      answers_.push_back(std::async(std::launch::async, [this, with] {
        return cache_.GetOrLoad(1, [this, &with]() -> Result<Cache::Loaded> {
          ++loads_;
          ended_.wait();
          return with;
        });
      }));
    }
    // Now every thread has missed: one loads, the others wait.
    while (cache_.statistics().misses < kThreads) std::this_thread::yield();
  }

  std::vector<Result<Cache::ValuePtr>> End() {
    end_.set_value();
    std::vector<Result<Cache::ValuePtr>> answers;
    for (auto& answer : answers_) answers.push_back(answer.get());
    return answers;
  }

  [[nodiscard]] int loads() const { return loads_; }

 private:
  Cache& cache_;
  std::promise<void> end_;
  std::shared_future<void> ended_ = end_.get_future().share();
  std::atomic<int> loads_{0};
  std::vector<std::future<Result<Cache::ValuePtr>>> answers_;
};

TEST_F(LruCacheTest, ManyThreadsShareOneLoad) {
  SlowLoad slow(cache, Cache::Loaded{Value("one"), 1});
  const auto answers = slow.End();
  EXPECT_EQ(slow.loads(), 1);
  for (const auto& answer : answers) EXPECT_EQ(*answer, *answers[0]);
  EXPECT_EQ(cache.Get(1), *answers[0]);
}

TEST_F(LruCacheTest, FailedLoadWakesEveryWaiterWithTheError) {
  SlowLoad slow(cache, Fail(ErrorCode::kTimedOut, "no answer"));
  for (const auto& answer : slow.End()) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kTimedOut);
    EXPECT_EQ(answer.error().message, "no answer");
  }
  EXPECT_EQ(slow.loads(), 1);
  EXPECT_EQ(cache.Get(1), nullptr);
}

TEST_F(LruCacheTest, AnErasedLoadAnswersButIsNotKept) {
  SlowLoad slow(cache, Cache::Loaded{Value("old"), 1});
  cache.Erase(1);
  const auto newer = []() -> Result<Cache::Loaded> { return Cache::Loaded{Value("new"), 1}; };
  EXPECT_EQ(**cache.GetOrLoad(1, newer), "new");  // does not join the erased load
  for (const auto& answer : slow.End()) EXPECT_EQ(**answer, "old");
  EXPECT_EQ(*cache.Get(1), "new");
}

TEST_F(LruCacheTest, ErasingOneValueLeavesTheLoadOfTheNextAlone) {
  const Cache::ValuePtr before = Value("before");
  SlowLoad slow(cache, Cache::Loaded{Value("next"), 1});
  cache.Erase(1, before);
  (void)slow.End();
  EXPECT_EQ(*cache.Get(1), "next");
}

TEST_F(LruCacheTest, ALoadDoesNotReplaceAConcurrentPut) {
  SlowLoad slow(cache, Cache::Loaded{Value("old"), 1});
  cache.Put(1, Value("new"), 1);
  for (const auto& answer : slow.End()) EXPECT_EQ(**answer, "old");
  EXPECT_EQ(*cache.Get(1), "new");
}

TEST_F(LruCacheTest, AThreadThatMayNotWaitGetsOnlyCachedValues) {
  SlowLoad slow(cache, Cache::Loaded{Value("one"), 1});
  const auto unused = []() -> Result<Cache::Loaded> { return Fail(ErrorCode::kIo, "unused"); };
  {
    const NoWaiting no_waiting;
    EXPECT_EQ(cache.GetOrLoad(1, unused).error().code, ErrorCode::kWouldBlock);
  }
  (void)slow.End();
  const NoWaiting no_waiting;
  EXPECT_EQ(**cache.GetOrLoad(1, unused), "one");
}

TEST(LruCacheSplitTest, CapacityHoldsAcrossSplitsUnderManyThreads) {
  LruCache<int, int> cache(160, 16);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&cache, thread] {
      for (int i = 0; i < 2000; ++i) {
        const int key = (i * 7 + thread) % 500;
        const auto value = cache.GetOrLoad(key, [&]() -> Result<LruCache<int, int>::Loaded> {
          return LruCache<int, int>::Loaded{std::make_shared<const int>(key), 1};
        });
        ASSERT_TRUE(value);
        ASSERT_EQ(**value, key);
        if (i % 50 == 0) cache.Erase(key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.statistics().bytes, 160U);
  EXPECT_EQ(cache.statistics().bytes, cache.statistics().entries);
}

TEST(LruCache, LoaderWithoutMemoryIsAnErrorAndNotTheEndOfTheProcess) {
  LruCache<int, int> cache(100);
  const auto loaded =
      cache.GetOrLoad(1, []() -> Result<LruCache<int, int>::Loaded> { throw std::bad_alloc(); });
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kNoMemory);
}

TEST(LruCache, ALoaderThatThrowsWakesAllWaiters) {
  LruCache<int, int> cache(100);
  std::promise<void> joined;
  std::thread thrower([&] {
    EXPECT_THROW((void)cache.GetOrLoad(1,
                                       [&]() -> Result<LruCache<int, int>::Loaded> {
                                         joined.get_future().wait();
                                         throw std::runtime_error("broken");
                                       }),
                 std::runtime_error);
  });
  while (cache.statistics().misses < 1) std::this_thread::yield();
  auto waiter = std::async(std::launch::async, [&] {
    return cache.GetOrLoad(
        1, []() -> Result<LruCache<int, int>::Loaded> { return Fail(ErrorCode::kStale, "own"); });
  });
  while (cache.statistics().misses < 2) std::this_thread::yield();
  joined.set_value();
  EXPECT_EQ(waiter.get().error().code, ErrorCode::kIo);
  thrower.join();
  EXPECT_TRUE(cache.GetOrLoad(1, [] {
    return Result<LruCache<int, int>::Loaded>({std::make_shared<const int>(7), 1});
  })) << "the next one loads again";
}

TEST_F(LruCacheTest, RefusalOfALoaderThatMayNotWaitFailsNobodyWhoMay) {
  std::promise<void> joined;
  std::thread refused([&] {
    const NoWaiting no_waiting;
    const auto answer = cache.GetOrLoad(1, [&]() -> Result<Cache::Loaded> {
      joined.get_future().wait();
      return Fail(ErrorCode::kWouldBlock, "may not wait");
    });
    EXPECT_EQ(answer.error().code, ErrorCode::kWouldBlock);
  });
  while (cache.statistics().misses < 1) std::this_thread::yield();
  auto waiter = std::async(std::launch::async, [&] {
    return cache.GetOrLoad(1, [] { return Result<Cache::Loaded>({Value("one"), 1}); });
  });
  while (cache.statistics().misses < 2) std::this_thread::yield();
  joined.set_value();
  EXPECT_EQ(**waiter.get(), "one");
  refused.join();
}

TEST_F(LruCacheTest, OutdatedValueStaysUntilAnotherIsLoaded) {
  const Cache::ValuePtr old = Value("old");
  cache.Put(1, old, 1);
  const auto fail = []() -> Result<Cache::Loaded> { return Fail(ErrorCode::kIo, "no"); };
  EXPECT_FALSE(cache.GetOrLoad(1, fail, old));
  EXPECT_EQ(cache.Get(1), old);
  const auto load = []() -> Result<Cache::Loaded> { return Cache::Loaded{Value("new"), 1}; };
  EXPECT_EQ(**cache.GetOrLoad(1, load, old), "new");
  EXPECT_EQ(**cache.GetOrLoad(1, fail, old), "new") << "not the outdated one any more";
}

}  // namespace
}  // namespace zarrfs::lru_cache_test
