#include "zarrcore/view/shared_dimensions.h"

#include <gtest/gtest.h>

namespace zarrfs::shared_dimensions_test {
namespace {

using Names = std::vector<std::string>;

ArrayDimensions Array(std::string name, std::vector<uint64_t> shape, Names names) {
  return {std::move(name), std::move(shape), std::move(names)};
}

// The names of each array's dimensions, in order.
std::vector<Names> Written(const std::vector<ArrayDimensions>& arrays,
                           const std::set<std::string>& below = {}) {
  Names nodes;
  for (const ArrayDimensions& array : arrays) nodes.push_back(array.array);
  const SharedDimensions shared = ShareDimensions(arrays, nodes, below);
  std::vector<Names> written;
  for (const ArrayDimensions& array : arrays) {
    written.push_back(NamesOf(array, shared).value_or(Names{"not known"}));
  }
  return written;
}

TEST(SharedDimensions, ANameWithOneLengthStaysAsItIs) {
  EXPECT_EQ(Written({Array("a", {4, 2}, {"x", "y"}), Array("b", {2}, {"y"})}),
            (std::vector<Names>{{"x", "y"}, {"y"}}));
}

TEST(SharedDimensions, LengthOfTheCoordinateVariableKeepsTheName) {
  EXPECT_EQ(Written({Array("a", {2}, {"x"}), Array("b", {2}, {"x"}), Array("x", {4}, {"x"})}),
            (std::vector<Names>{{"x_2"}, {"x_2"}, {"x"}}));
  EXPECT_EQ(
      Written({Array("a", {2}, {"x"}), Array("b", {2}, {"x"}), Array("x", {4, 4}, {"x", "y"})}),
      (std::vector<Names>{{"x"}, {"x"}, {"x_4", "y"}}))
      << "a coordinate variable has one dimension";
}

TEST(SharedDimensions, ElseTheLengthOfMostArrays) {
  EXPECT_EQ(Written({Array("a", {4}, {"x"}), Array("b", {4}, {"x"}), Array("c", {2}, {"x"})}),
            (std::vector<Names>{{"x"}, {"x"}, {"x_2"}}));
  EXPECT_EQ(Written({Array("a", {4}, {"x"}), Array("b", {4}, {"x"}),
                     Array("c", {2, 2, 2}, {"x", "x", "x"})}),
            (std::vector<Names>{{"x"}, {"x"}, {"x_2", "x_2", "x_2"}}))
      << "an array counts once";
}

TEST(SharedDimensions, ElseTheSmallest) {
  EXPECT_EQ(Written({Array("a", {10}, {"x"}), Array("b", {9}, {"x"}), Array("c", {100}, {"x"})}),
            (std::vector<Names>{{"x_10"}, {"x"}, {"x_100"}}));
}

TEST(SharedDimensions, TwoLengthsInOneArray) {
  EXPECT_EQ(Written({Array("a", {4, 2}, {"x", "x"})}), (std::vector<Names>{{"x_4", "x"}}));
}

TEST(SharedDimensions, ATakenNameGetsAnotherEnd) {
  EXPECT_EQ(Written({Array("a", {4}, {"x"}), Array("b", {2}, {"x"}), Array("c", {7}, {"x_4"})}),
            (std::vector<Names>{{"x_4_"}, {"x"}, {"x_4"}}));
  EXPECT_EQ(Written({Array("a", {4}, {"x"}), Array("b", {2}, {"x"}), Array("x_4", {7}, {"y"}),
                     Array("c", {1}, {"x_4_"})}),
            (std::vector<Names>{{"x_4__"}, {"x"}, {"y"}, {"x_4_"}}))
      << "nor is it the name of a variable";
}

TEST(SharedDimensions, DimensionsWithoutANameAreOfOneLength) {
  EXPECT_EQ(Written({Array("a", {4, 2}, {"", ""}), Array("b", {5}, {"dim_0_4"})}),
            (std::vector<Names>{{"dim_0_4", "dim_1_2"}, {"dim_0_4_5"}}));
}

TEST(SharedDimensions, TheNameOfScalarsIsOfLengthOne) {
  EXPECT_EQ(Written({Array("a", {5}, {"scalar"}), Array("b", {1}, {"scalar"})}),
            (std::vector<Names>{{"scalar_5"}, {"scalar"}}));
  EXPECT_EQ(Written({Array("a", {5}, {"scalar"})}), (std::vector<Names>{{"scalar_5"}}))
      << "scalars may lie in other groups";
}

TEST(SharedDimensions, ANameThatAnotherGroupHasWithAnotherLengthIsNotPlain) {
  const std::vector<ArrayDimensions> arrays = {
      Array("a", {7, 3, 9, 9}, {"x_3", "y_3", "z_0", "w_09"}), Array("b", {8}, {"x3"})};
  EXPECT_EQ(NamesLikeThoseWithLengths(arrays), std::set<std::string>{"x_3"});
  EXPECT_EQ(Written(arrays)[0][0], "x_3");
  EXPECT_EQ(Written(arrays, {"x_3"})[0][0], "x_3_7");
}

TEST(SharedDimensions, AnArrayOfAnotherTimeIsNotKnown) {
  const std::vector<ArrayDimensions> arrays = {Array("a", {4}, {"x"})};
  const SharedDimensions shared = ShareDimensions(arrays, Names{"a"}, {});
  EXPECT_EQ(NamesOf(Array("a", {5}, {"x"}), shared), std::nullopt);
}

}  // namespace
}  // namespace zarrfs::shared_dimensions_test
