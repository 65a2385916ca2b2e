#include "zarrcore/array/chunk_grid.h"

#include <gtest/gtest.h>

namespace zarrfs::chunk_grid_test {
namespace {

using Shape = std::vector<uint64_t>;

TEST(ParseCoordinate, OnlyOneSpellingNamesAChunk) {
  EXPECT_EQ(ParseCoordinate("0", 1), 0U);
  EXPECT_EQ(ParseCoordinate("10", 11), 10U);
  EXPECT_EQ(ParseCoordinate("18446744073709551614", ~uint64_t{0}), ~uint64_t{0} - 1);
  for (const char* other : {"", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "0x1", "1a", "c",
                            "18446744073709551616", "99999999999999999999999"}) {
    EXPECT_FALSE(ParseCoordinate(other, ~uint64_t{0})) << other;
  }
  EXPECT_FALSE(ParseCoordinate(std::string_view("1\0", 2), 5));
}

TEST(ParseCoordinate, ChunksBeyondTheGridHaveNoName) {
  EXPECT_FALSE(ParseCoordinate("3", 3));
  EXPECT_FALSE(ParseCoordinate("0", 0));
}

TEST(ChunkGrid, CountsAreRoundedUp) {
  const auto grid = ChunkGrid::Make(Shape{4, 5, 1}, Shape{2, 2, 7});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->counts(), (Shape{2, 3, 1}));
  EXPECT_EQ(grid->size(), 6U);
}

TEST(ChunkGrid, RankZeroHasOneChunk) {
  const auto grid = ChunkGrid::Make(Shape{}, Shape{});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->size(), 1U);
  EXPECT_EQ(grid->Linear({}), 0U);
}

TEST(ChunkGrid, AnEmptyDimensionLeavesNoChunksHoweverLongTheOthers) {
  const auto grid = ChunkGrid::Make(Shape{uint64_t{1} << 62, 0, uint64_t{1} << 62}, Shape{1, 1, 1});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->size(), 0U);
}

TEST(ChunkGrid, OrderIsRowMajorBothWays) {
  const auto grid = ChunkGrid::Make(Shape{2, 3, 4}, Shape{1, 1, 1});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->Linear(Shape{1, 2, 3}), 23U);
  EXPECT_EQ(grid->Linear(Shape{0, 1, 0}), 4U);
  for (uint64_t linear = 0; linear < grid->size(); ++linear) {
    ChunkCoordinates at;
    grid->Coordinates(linear, at);
    EXPECT_EQ(grid->Linear({at.data(), 3}), linear);
  }
}

TEST(ChunkGrid, MoreChunksThanCanBeNumberedAreRefused) {
  EXPECT_TRUE(ChunkGrid::Make(Shape{kMaxChunksPerArray}, Shape{1}));
  for (const Shape& shape : {Shape{kMaxChunksPerArray + 1}, Shape{uint64_t{1} << 32, 257, 1},
                             Shape{uint64_t{1} << 62, uint64_t{1} << 62}}) {
    const auto grid = ChunkGrid::Make(shape, Shape(shape.size(), 1));
    ASSERT_FALSE(grid);
    EXPECT_EQ(grid.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(grid.error().message.find("2^40"), std::string::npos) << grid.error().message;
  }
}

}  // namespace
}  // namespace zarrfs::chunk_grid_test
