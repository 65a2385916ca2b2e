#include "zarrcore/store/counted_store.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "tests/unit/support/fake_store.h"

namespace zarrfs::counted_store_test {
namespace {

struct Fixture {
  std::shared_ptr<FakeStore> fake = std::make_shared<FakeStore>();
  std::shared_ptr<StoreCounts> counts = std::make_shared<StoreCounts>();
  std::shared_ptr<const Store> store = Count(fake, counts);
};

TEST(CountedStoreTest, ReadsOfTheStoreAndOfItsObjectsAreCounted) {
  Fixture fixture;
  fixture.fake->Put("a", "0123456789");
  std::array<std::byte, 4> bytes{};
  const auto answer = fixture.store->Read("a", ByteRange::Suffix(100), bytes);
  ASSERT_TRUE(answer);
  EXPECT_EQ(fixture.counts->reads(), 1U);
  EXPECT_EQ(fixture.counts->read_bytes(), 4U);
  ASSERT_TRUE(answer->object->Read(0, std::span(bytes).first(3)));
  EXPECT_EQ(fixture.counts->reads(), 2U);
  EXPECT_EQ(fixture.counts->read_bytes(), 7U);
  EXPECT_EQ(fixture.counts->errors(), 0U);
}

TEST(CountedStoreTest, WhatTheStoreAnswersIsNoError) {
  Fixture fixture;
  fixture.fake->Put("a", "0123");
  std::array<std::byte, 8> bytes{};
  EXPECT_FALSE(fixture.store->Stat("absent"));
  EXPECT_FALSE(fixture.store->List("absent"));
  EXPECT_FALSE(fixture.store->Read("absent", ByteRange::At(0, 8), bytes));
  const auto answer = fixture.store->Read("a", ByteRange::At(0, 4), bytes);
  ASSERT_TRUE(answer);
  fixture.fake->RewriteInPlace("a", "4567");
  EXPECT_EQ(answer->object->Read(0, std::span(bytes).first(2)).error().code, ErrorCode::kStale);
  EXPECT_EQ(fixture.counts->errors(), 0U);
  EXPECT_EQ(fixture.counts->reads(), 3U) << "those that found nothing too";
  EXPECT_EQ(fixture.counts->read_bytes(), 4U);
}

TEST(CountedStoreTest, EveryCallThatFailsIsAnError) {
  Fixture fixture;
  fixture.fake->Put("a", "0123");
  std::array<std::byte, 4> bytes{};
  const auto answer = fixture.store->Read("a", ByteRange::At(0, 4), bytes);
  ASSERT_TRUE(answer);
  const auto folder = *fixture.store->OpenFolder("");
  fixture.fake->FailAllWith("", {ErrorCode::kIo, "cable pulled"});
  EXPECT_FALSE(fixture.store->Stat("a"));
  EXPECT_FALSE(fixture.store->List(""));
  EXPECT_FALSE(folder->Next(1));
  EXPECT_FALSE(fixture.store->Read("a", ByteRange::At(0, 4), bytes));
  EXPECT_FALSE(answer->object->Read(0, bytes));
  EXPECT_EQ(fixture.counts->errors(), 5U);
  EXPECT_EQ(fixture.counts->reads(), 3U);
  EXPECT_EQ(fixture.counts->read_bytes(), 4U);
}

TEST(CountedStoreTest, ManyThreadsLoseNothing) {
  Fixture fixture;
  fixture.fake->Put("a", "0123");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      std::array<std::byte, 4> bytes{};
      for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE(fixture.store->Read("a", ByteRange::At(0, 4), bytes));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fixture.counts->reads(), 4000U);
  EXPECT_EQ(fixture.counts->read_bytes(), 16000U);
}

}  // namespace
}  // namespace zarrfs::counted_store_test
