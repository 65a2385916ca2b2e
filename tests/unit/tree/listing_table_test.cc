#include <gtest/gtest.h>

#include "fs/tree/folder.h"

namespace zarrfs::listing_table_test {
namespace {

constexpr uint64_t kFolder = 42;

TEST(ListingTable, ListingIsCurrentWhileNothingChanges) {
  ListingTable table;
  EXPECT_FALSE(table.Open(kFolder, 7));
  table.Close(kFolder, 7, true);
  EXPECT_TRUE(table.Open(kFolder, 7));
  table.Close(kFolder, 7, true);
  EXPECT_FALSE(table.Open(kFolder, 8)) << "something has changed";
  table.Close(kFolder, 8, true);
  EXPECT_TRUE(table.Open(kFolder, 8));
}

TEST(ListingTable, WhatIsNotToldOfIsNotCurrent) {
  ListingTable table;
  EXPECT_FALSE(table.Open(kFolder, 0));
  table.Close(kFolder, 0, false);
  EXPECT_FALSE(table.Open(kFolder, 0));
}

TEST(ListingTable, ListingThatWasNotReadToItsEndIsNotCurrent) {
  ListingTable table;
  EXPECT_FALSE(table.Open(kFolder, 7));
  table.Close(kFolder, 7, false);
  EXPECT_FALSE(table.Open(kFolder, 7));
}

// What the first tells after the second was opened may be in what the kernel holds.
TEST(ListingTable, HandleFromBeforeAChangeSpoilsTheListing) {
  ListingTable table;
  EXPECT_FALSE(table.Open(kFolder, 7));
  EXPECT_FALSE(table.Open(kFolder, 8));
  table.Close(kFolder, 8, true);
  EXPECT_FALSE(table.Open(kFolder, 8));
  table.Close(kFolder, 7, true);
  table.Close(kFolder, 8, true);
  EXPECT_FALSE(table.Open(kFolder, 8)) << "all of them are gone: from here on it is known";
  table.Close(kFolder, 8, true);
  EXPECT_TRUE(table.Open(kFolder, 8));
}

TEST(ListingTable, HandleThatListedNothingLeavesItAsItIs) {
  ListingTable table;
  EXPECT_FALSE(table.Open(kFolder, 7));
  table.Close(kFolder, 7, true);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(table.Open(kFolder, 7));
    table.Close(kFolder);
  }
  EXPECT_FALSE(table.Open(kFolder, 8));
  table.Close(kFolder);
  EXPECT_FALSE(table.Open(kFolder, 8));
}

TEST(ListingTable, OtherFoldersAreLeftAlone) {
  ListingTable table;
  EXPECT_FALSE(table.Open(kFolder, 7));
  table.Close(kFolder, 7, true);
  for (uint64_t other = 100; other < 3000; ++other) {
    EXPECT_FALSE(table.Open(other, 7));
    table.Close(other, 7, true);
  }
  EXPECT_TRUE(table.Open(kFolder, 7));
}

}  // namespace
}  // namespace zarrfs::listing_table_test
