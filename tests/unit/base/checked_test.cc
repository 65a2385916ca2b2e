#include "zarrcore/base/checked.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace zarrfs::checked_test {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(CheckedTest, SumThatDoesNotFitIsNone) {
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
}

TEST(CheckedTest, ProductThatDoesNotFitIsNone) {
  EXPECT_EQ(CheckedMul(1ULL << 32, (1ULL << 32) - 1), kMax - (1ULL << 32) + 1);
  EXPECT_EQ(CheckedMul(1ULL << 32, 1ULL << 32), std::nullopt);
}

TEST(CheckedTest, ProductOfNoFactorsIsOne) { EXPECT_EQ(CheckedProduct({}), 1U); }

TEST(CheckedTest, ProductOfManyFactorsIsCheckedAtEachStep) {
  EXPECT_EQ(CheckedProduct(std::array<uint64_t, 3>{2, 3, 4}), 24U);
  EXPECT_EQ(CheckedProduct(std::array<uint64_t, 3>{1ULL << 32, 1ULL << 31, 2}), std::nullopt);
}

TEST(CheckedTest, CeilingDivisionNeitherRoundsDownNorOverflows) {
  EXPECT_EQ(CeilDiv(0, 4), 0U);
  EXPECT_EQ(CeilDiv(8, 4), 2U);
  EXPECT_EQ(CeilDiv(9, 4), 3U);
  EXPECT_EQ(CeilDiv(kMax, 2), (kMax >> 1) + 1);
}

}  // namespace
}  // namespace zarrfs::checked_test
