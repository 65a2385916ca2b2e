#include "zarrcore/base/credit.h"

#include <gtest/gtest.h>

namespace zarrfs::credit_test {
namespace {

TEST(CreditTest, WhatIsSpentIsEarnedBackAndNoMore) {
  Credit credit(10);
  EXPECT_TRUE(credit.Spend(7));
  EXPECT_FALSE(credit.Spend(4));
  EXPECT_TRUE(credit.Spend(3));
  credit.Earn(100);
  EXPECT_FALSE(credit.Spend(11));
  EXPECT_TRUE(credit.Spend(10));
}

TEST(CreditTest, WhatIsOwedIsEarnedBeforeAnythingIsSpent) {
  Credit credit(10);
  credit.Owe(15);
  credit.Earn(5);
  EXPECT_FALSE(credit.Spend(1));
  credit.Earn(1);
  EXPECT_TRUE(credit.Spend(1));
}

}  // namespace
}  // namespace zarrfs::credit_test
