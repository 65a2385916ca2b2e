#include "fs/tree/early_reads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace zarrfs {
namespace {

// Looks `count` files up, from number `from` on, and reads each for which `reads` says so, unless
// the kernel has its bytes: it takes what is offered. Gives how many were offered.
int Offered(EarlyReads& early, uint64_t from, int count, const std::function<bool(int)>& reads) {
  int offered = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t id = from + static_cast<uint64_t>(i);
    const bool is_offered = early.OnLookup(id);
    if (is_offered) {
      EXPECT_TRUE(early.IsEarly(id));
      early.OnOffered(id, true);
      ++offered;
    } else if (reads(i)) {
      early.OnRead(id);
      EXPECT_FALSE(early.IsEarly(id));
    }
  }
  return offered;
}

const auto kAll = [](int) { return true; };
const auto kNone = [](int) { return false; };

TEST(EarlyReadsTest, ReadersGetMostFilesEarlyAfterAFew) {
  EarlyReads early;
  EXPECT_EQ(Offered(early, 1, 4, kAll), 0);
  EXPECT_GE(Offered(early, 5, 100, kAll), 90);
}

TEST(EarlyReadsTest, WhoOnlyLooksFilesUpGetsNothing) {
  EarlyReads early;
  EXPECT_EQ(Offered(early, 1, 1000, kNone), 0);
}

TEST(EarlyReadsTest, WhoReadsAFewOfThemGetsNothing) {
  EarlyReads early;
  EXPECT_EQ(Offered(early, 1, 1000, [](int i) { return i % 20 == 0; }), 0);
}

TEST(EarlyReadsTest, ItEndsSoonAfterTheLastFileWasRead) {
  EarlyReads early;
  Offered(early, 1, 1000, kAll);
  EXPECT_LT(Offered(early, 2000, 1000, kNone), 64);
  EXPECT_EQ(Offered(early, 5000, 1000, kNone), 0);
  EXPECT_GT(Offered(early, 9000, 100, kAll), 60) << "and begins anew";
}

TEST(EarlyReadsTest, OffersThatComeTooLatePauseIt) {
  for (const bool was_taken : {true, false}) {
    EarlyReads early;
    int offered = 0;
    for (uint64_t id = 1; id <= 1000; ++id) {
      if (early.OnLookup(id)) {
        early.OnOffered(id, was_taken);
        ++offered;
      }
      early.OnRead(id);
    }
    EXPECT_GT(offered, 20) << "tried again";
    EXPECT_LT(offered, 100);
  }
}

TEST(EarlyReadsTest, SomeOffersMayComeTooLate) {
  EarlyReads early;
  int offered = 0;
  for (uint64_t id = 1; id <= 1000; ++id) {
    const bool is_offered = early.OnLookup(id);
    if (is_offered) {
      early.OnOffered(id, true);
      ++offered;
    }
    if (!is_offered || id % 3 == 0) early.OnRead(id);
  }
  EXPECT_GT(offered, 900);
}

TEST(EarlyReadsTest, ReadsOfOtherFilesSayNothing) {
  EarlyReads early;
  for (uint64_t id = 1; id <= 100; ++id) {
    EXPECT_FALSE(early.OnLookup(id));
    early.OnRead(id + 1000);
    early.OnRead(id + 1000);
    EXPECT_FALSE(early.IsEarly(id + 1000));
  }
}

}  // namespace
}  // namespace zarrfs
