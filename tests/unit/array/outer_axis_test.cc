#include "zarrcore/array/outer_axis.h"

#include <gtest/gtest.h>

namespace zarrfs::outer_axis_test {
namespace {

// Objects of 2, 2, 3, 1, 1, … chunks.
OuterAxis Axis() { return {std::vector<EdgeRun>{{0, 4}, {2, 6}, {3, 2}}, 2}; }

TEST(OuterAxis, EachChunkLiesInOneObject) {
  const std::vector<std::pair<uint64_t, uint64_t>> places = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0},
                                                             {2, 1}, {2, 2}, {3, 0}, {4, 0}};
  const OuterAxis axis = Axis();
  for (uint64_t inner = 0; inner < places.size(); ++inner) {
    const auto [outer, local] = axis.PlaceOf(inner);
    EXPECT_EQ(std::pair(outer, local), places[inner]) << inner;
    EXPECT_EQ(axis.FirstOf(outer) + local, inner);
    EXPECT_LT(local, axis.CountOf(outer));
  }
}

TEST(OuterAxis, TheLastRunHasNoEnd) {
  const OuterAxis axis = Axis();
  EXPECT_EQ(axis.PlaceOf((uint64_t{1} << 40) + 7).outer, (uint64_t{1} << 40) + 3);
  EXPECT_EQ(axis.FirstOf((uint64_t{1} << 40) + 3), (uint64_t{1} << 40) + 7);
}

TEST(OuterAxis, DiffersIfNotAllObjectsAreAlike) {
  EXPECT_TRUE(Axis().differs());
  EXPECT_FALSE(OuterAxis(std::vector<EdgeRun>{{0, 4}}, 2).differs());
}

}  // namespace
}  // namespace zarrfs::outer_axis_test
