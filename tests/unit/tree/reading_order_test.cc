#include <gtest/gtest.h>

#include <vector>

#include "fs/tree/prefetch.h"

namespace zarrfs::reading_order_test {
namespace {

constexpr uint64_t kFolder = 42;

// Reads files in order from `place` on, all that is prefetched included, and gives what each of so
// many READs offers.
std::vector<size_t> Offers(ReadingOrder& order, uint64_t folder, uint64_t place, int reads) {
  std::vector<size_t> offers;
  for (int i = 0; i < reads; ++i) {
    const size_t count = order.OnRead(folder, place);
    if (count > 0) order.OnPrefetched(folder, place, place + count, false);
    place += count + 1;
    offers.push_back(count);
  }
  return offers;
}

TEST(ReadingOrderTest, GrowsWhileAllOfItIsRead) {
  ReadingOrder order;
  EXPECT_EQ(Offers(order, kFolder, 100, 7), (std::vector<size_t>{0, 0, 0, 1, 2, 4, 8}));
}

TEST(ReadingOrderTest, AnotherOrderGetsNothing) {
  ReadingOrder order;
  for (uint64_t i = 0; i < 200; ++i) EXPECT_EQ(order.OnRead(kFolder, i * 7919 % 10007), 0) << i;
  for (uint64_t i = 200; i-- > 0;) EXPECT_EQ(order.OnRead(kFolder, i), 0) << i;
}

TEST(ReadingOrderTest, PlacesWithoutFilesAreNoBreak) {
  ReadingOrder order;
  size_t offers = 0;
  for (uint64_t place = 0; place < 90; place += 9) offers += order.OnRead(kFolder, place);
  EXPECT_GT(offers, 0U);
}

TEST(ReadingOrderTest, ReadersOfOneFolderAndOfOthersDoNotDisturbEachOther) {
  ReadingOrder order;
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(order.OnRead(kFolder, i), 0);
    EXPECT_EQ(order.OnRead(kFolder, 1000 + i), 0);
    EXPECT_EQ(order.OnRead(kFolder + 1, i), 0);
  }
  EXPECT_EQ(order.OnRead(kFolder, 1003), 1);
  EXPECT_EQ(order.OnRead(kFolder, 3), 1);
  EXPECT_EQ(order.OnRead(kFolder + 1, 3), 1);
}

TEST(ReadingOrderTest, AfterTheEndOfAShardItGoesOnWhereverTheReaderDoes) {
  ReadingOrder order;
  Offers(order, kFolder, 0, 5);  // the last offer, of 2 files, is given with the read of place 5
  ASSERT_EQ(order.OnRead(kFolder, 8), 4);
  order.OnPrefetched(kFolder, 8, 9, /*is_end=*/true);
  EXPECT_EQ(order.OnRead(kFolder, 5000), 8);
  EXPECT_EQ(order.OnRead(kFolder, 9000), 0) << "once";
}

TEST(ReadingOrderTest, PauseIsFollowedByAnotherTry) {
  ReadingOrder order;
  Offers(order, kFolder, 0, 3);
  ASSERT_EQ(order.OnRead(kFolder, 3), 1);
  order.Pause(kFolder, 3);
  uint64_t place = 4;
  while (place < 50) EXPECT_EQ(order.OnRead(kFolder, place++), 0);
  size_t offers = 0;
  while (place < 100) offers += order.OnRead(kFolder, place++);
  EXPECT_GT(offers, 0U);
}

}  // namespace
}  // namespace zarrfs::reading_order_test
