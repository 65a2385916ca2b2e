#include "zarrcore/content/element_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "zarrcore/base/checked.h"

namespace zarrfs::element_window_test {
namespace {

using Shape = std::vector<uint64_t>;

// (first, count) of each window of an array, which must follow each other without gaps.
std::vector<std::pair<uint64_t, uint64_t>> WindowsOf(const Shape& shape, const Shape& chunk,
                                                     uint64_t enough, uint64_t most) {
  std::vector<std::pair<uint64_t, uint64_t>> windows;
  const uint64_t all = *CheckedProduct(shape);
  for (uint64_t element = 0; element < all;) {
    const auto window = WindowAt(shape, chunk, element, enough, most);
    if (!window) return {};
    EXPECT_EQ(window->first, element);
    EXPECT_GT(window->count, 0);
    for (uint64_t in = element; in < element + window->count; ++in) {
      const auto same = WindowAt(shape, chunk, in, enough, most);
      EXPECT_TRUE(same && same->first == element && same->count == window->count) << in;
    }
    if (window->count == 0) return {};
    windows.emplace_back(window->first, window->count);
    element += window->count;
  }
  return windows;
}

// In how many windows each chunk has elements, at most.
uint64_t WindowsOfAChunk(const Shape& shape, const Shape& chunk, uint64_t enough, uint64_t most) {
  std::map<Shape, std::set<uint64_t>> windows;
  for (const auto& [first, count] : WindowsOf(shape, chunk, enough, most)) {
    for (uint64_t element = first; element < first + count; ++element) {
      Shape at(shape.size());
      uint64_t rest = element;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) at[d] = rest % shape[d] / chunk[d];
      windows[at].insert(first);
    }
  }
  uint64_t most_windows = 0;
  for (const auto& [at, of_chunk] : windows) {
    most_windows = std::max<uint64_t>(most_windows, of_chunk.size());
  }
  return most_windows;
}

TEST(ElementWindow, HasAllStepsOfItsChunksWhereTheyFit) {
  using Windows = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(WindowsOf({10, 6}, {4, 3}, 1, 24), (Windows{{0, 24}, {24, 24}, {48, 12}}));
  EXPECT_EQ(WindowsOfAChunk({10, 6}, {4, 3}, 1, 24), 1);
}

TEST(ElementWindow, HasSeveralRowsOfSmallChunks) {
  using Windows = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(WindowsOf({10, 6}, {2, 3}, 30, 60), (Windows{{0, 24}, {24, 24}, {48, 12}}));
}

TEST(ElementWindow, HasAsManyStepsAsFitInPartsOfOneLength) {
  using Windows = std::vector<std::pair<uint64_t, uint64_t>>;
  // 5 steps of 8 fit, two parts of 4 are enough.
  EXPECT_EQ(WindowsOf({8, 6}, {8, 3}, 1, 30), (Windows{{0, 24}, {24, 24}}));
  EXPECT_EQ(WindowsOfAChunk({8, 6}, {8, 3}, 1, 30), 2);
  // The last chunks are cut off.
  EXPECT_EQ(WindowsOf({14, 6}, {8, 3}, 1, 30), (Windows{{0, 24}, {24, 24}, {48, 24}, {72, 12}}));
}

TEST(ElementWindow, IsPartOfAStepWhereOneDoesNotFit) {
  using Windows = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(WindowsOf({2, 4, 6}, {1, 2, 3}, 1, 12),
            (Windows{{0, 12}, {12, 12}, {24, 12}, {36, 12}}));
}

TEST(ElementWindow, ThereIsNoneIfChunksAreTooLarge) {
  // (Each is decoded once, and kept while it is read.)
  EXPECT_FALSE(WindowAt(Shape{8, 6}, Shape{8, 6}, 0, 1, 30));
  EXPECT_FALSE(WindowAt(Shape{800}, Shape{100}, 0, 1, 30));
  EXPECT_FALSE(WindowAt(Shape{8, 6}, Shape{8, 3}, 0, 0, 0));
  EXPECT_FALSE(WindowAt(Shape{}, Shape{}, 0, 1, 30));
}

TEST(ElementWindow, HasNotTooManyChunks) {
  // 32 chunks are beside each other.
  const auto window = WindowAt(Shape{1u << 20, 64}, Shape{1, 2}, 0, 1u << 24, 1u << 26);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->count, kMaxChunksOfWindow / 32 * 64);
  // Not even one step of the first axis fits: of the chunks along the second one each has only one.
  const auto part = WindowAt(Shape{4, 1u << 20}, Shape{4, 1}, 0, 1u << 14, 1u << 14);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->count, kMaxChunksOfWindow);
  EXPECT_FALSE(WindowAt(Shape{4, 1u << 20}, Shape{1, 1}, 0, 1u << 24, 1u << 26));
}

TEST(ElementWindow, EachWindowFitsTheAllowedSize) {
  std::mt19937 random(7);
  const auto below = [&](uint64_t end) { return random() % end; };
  for (int round = 0; round < 300; ++round) {
    Shape shape;
    Shape chunk;
    for (uint64_t rank = 1 + below(4); shape.size() < rank;) {
      shape.push_back(1 + below(7));
      chunk.push_back(1 + below(8));
    }
    const uint64_t most = 1 + below(200);
    const uint64_t enough = below(most + 1);
    for (const auto& [first, count] : WindowsOf(shape, chunk, enough, most)) {
      ASSERT_LE(count, most);
    }
  }
}

}  // namespace
}  // namespace zarrfs::element_window_test
