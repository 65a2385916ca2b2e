#include "fs/tree/read_ahead.h"

#include <gtest/gtest.h>

#include <vector>

namespace zarrfs {
namespace {

constexpr uint64_t kFolder = 42;

// Reads files in order from `place` on, all that is read ahead included, and gives what each of so
// many READs offers.
std::vector<size_t> Offers(ReadAhead& ahead, uint64_t folder, uint64_t place, int reads) {
  std::vector<size_t> offers;
  for (int i = 0; i < reads; ++i) {
    const size_t count = ahead.OnRead(folder, place);
    if (count > 0) ahead.OnReadAhead(folder, place, place + count, false);
    place += count + 1;
    offers.push_back(count);
  }
  return offers;
}

TEST(ReadAheadTest, GrowsWhileAllOfItIsRead) {
  ReadAhead ahead;
  EXPECT_EQ(Offers(ahead, kFolder, 100, 7), (std::vector<size_t>{0, 0, 0, 1, 2, 4, 8}));
}

TEST(ReadAheadTest, AnotherOrderGetsNothing) {
  ReadAhead ahead;
  for (uint64_t i = 0; i < 200; ++i) EXPECT_EQ(ahead.OnRead(kFolder, i * 7919 % 10007), 0) << i;
  for (uint64_t i = 200; i-- > 0;) EXPECT_EQ(ahead.OnRead(kFolder, i), 0) << i;
}

TEST(ReadAheadTest, PlacesWithoutFilesAreNoBreak) {
  ReadAhead ahead;
  size_t offers = 0;
  for (uint64_t place = 0; place < 90; place += 9) offers += ahead.OnRead(kFolder, place);
  EXPECT_GT(offers, 0U);
}

TEST(ReadAheadTest, ReadersOfOneFolderAndOfOthersDoNotDisturbEachOther) {
  ReadAhead ahead;
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ahead.OnRead(kFolder, i), 0);
    EXPECT_EQ(ahead.OnRead(kFolder, 1000 + i), 0);
    EXPECT_EQ(ahead.OnRead(kFolder + 1, i), 0);
  }
  EXPECT_EQ(ahead.OnRead(kFolder, 1003), 1);
  EXPECT_EQ(ahead.OnRead(kFolder, 3), 1);
  EXPECT_EQ(ahead.OnRead(kFolder + 1, 3), 1);
}

TEST(ReadAheadTest, AfterTheEndOfAShardItGoesOnWhereverTheReaderDoes) {
  ReadAhead ahead;
  Offers(ahead, kFolder, 0, 5);  // the last offer, of 2 files, is given with the read of place 5
  ASSERT_EQ(ahead.OnRead(kFolder, 8), 4);
  ahead.OnReadAhead(kFolder, 8, 9, /*is_end=*/true);
  EXPECT_EQ(ahead.OnRead(kFolder, 5000), 8);
  EXPECT_EQ(ahead.OnRead(kFolder, 9000), 0) << "once";
}

TEST(ReadAheadTest, PauseIsFollowedByAnotherTry) {
  ReadAhead ahead;
  Offers(ahead, kFolder, 0, 3);
  ASSERT_EQ(ahead.OnRead(kFolder, 3), 1);
  ahead.Pause(kFolder, 3);
  uint64_t place = 4;
  while (place < 50) EXPECT_EQ(ahead.OnRead(kFolder, place++), 0);
  size_t offers = 0;
  while (place < 100) offers += ahead.OnRead(kFolder, place++);
  EXPECT_GT(offers, 0U);
}

}  // namespace
}  // namespace zarrfs
