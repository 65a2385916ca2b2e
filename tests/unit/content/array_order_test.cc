#include "zarrcore/content/array_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace zarrfs::array_order_test {
namespace {

ChunkGrid Grid(const std::vector<uint64_t>& counts) {
  return *ChunkGrid::Make(counts, std::vector<uint64_t>(counts.size(), 1));
}

// What came of reading chunks one after the other.
struct Outcome {
  size_t read = 0;
  size_t ahead = 0;    // of these, fetched before they were read
  size_t fetched = 0;  // ahead, read or not
  size_t most = 0;     // fetched and not read, at any time
  [[nodiscard]] double share() const {
    return static_cast<double>(ahead) / static_cast<double>(read);
  }
  [[nodiscard]] size_t in_vain() const { return fetched - ahead; }
};

Outcome Read(ArrayOrder& order, const ChunkGrid& grid, const std::vector<uint64_t>& chunks,
             size_t window) {
  std::set<uint64_t> fetched;
  std::set<uint64_t> read;
  Outcome outcome;
  const auto is_here = [&](InnerIndex next) {
    return fetched.contains(ToNumber(next)) || read.contains(ToNumber(next));
  };
  for (const uint64_t chunk : chunks) {
    outcome.ahead += fetched.contains(chunk) ? 1 : 0;
    ++outcome.read;
    read.insert(chunk);
    for (const InnerIndex next : order.OnWanted(InnerIndex{chunk}, window, is_here).chunks) {
      EXPECT_LT(ToNumber(next), grid.size());
      if (!read.contains(ToNumber(next))) fetched.insert(ToNumber(next));
    }
    outcome.most = std::max(outcome.most, fetched.size() - outcome.ahead);
  }
  outcome.fetched = fetched.size();
  return outcome;
}

Outcome Read(const ChunkGrid& grid, const std::vector<uint64_t>& chunks, size_t window = 16) {
  ArrayOrder order(grid);
  return Read(order, grid, chunks, window);
}

// All chunks of the box [begin, end), every `step`th, the last of `axes` fastest.
std::vector<uint64_t> Box(const ChunkGrid& grid, const std::vector<size_t>& axes,
                          std::vector<uint64_t> begin, std::vector<uint64_t> end,
                          uint64_t step = 1) {
  std::vector<uint64_t> chunks;
  std::vector<uint64_t> at = begin;
  for (;;) {
    chunks.push_back(grid.Linear(at));
    size_t i = axes.size();
    while (i-- > 0) {
      const size_t axis = axes[i];
      at[axis] += i + 1 == axes.size() ? step : 1;
      if (at[axis] < end[axis]) break;
      at[axis] = begin[axis];
      if (i == 0) return chunks;
    }
  }
}

const std::vector<uint64_t> kZero = {0, 0, 0};
const std::vector<uint64_t> kCounts = {8, 10, 12};
const std::vector<uint64_t> kLarge = {80, 10, 12};

TEST(ArrayOrder, RowsColumnsAndSlabsAreFetchedAhead) {
  const ChunkGrid grid = Grid(kCounts);
  const std::vector<std::vector<size_t>> orders = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2},
                                                   {2, 0, 1}, {1, 2, 0}, {0, 2, 1}};
  for (const auto& axes : orders) {
    const Outcome outcome = Read(grid, Box(grid, axes, kZero, kCounts));
    EXPECT_GT(outcome.share(), 0.9) << axes[0] << axes[1] << axes[2];
    EXPECT_EQ(outcome.in_vain(), 0U) << "all of it is read some time";
  }
}

TEST(ArrayOrder, SoIsTheWayBack) {
  const ChunkGrid grid = Grid(kCounts);
  auto chunks = Box(grid, {0, 1, 2}, kZero, kCounts);
  std::ranges::reverse(chunks);
  EXPECT_GT(Read(grid, chunks).share(), 0.95);
}

TEST(ArrayOrder, EveryThirdChunkIsFetchedAndNotThoseBetween) {
  const ChunkGrid grid = Grid(kCounts);
  const Outcome outcome = Read(grid, Box(grid, {0, 1, 2}, kZero, kCounts, 3));
  EXPECT_GT(outcome.share(), 0.8);
  EXPECT_LT(outcome.in_vain(), outcome.read / 20);
}

TEST(ArrayOrder, PartOfAnArrayIsLearned) {
  const ChunkGrid grid = Grid({40, 40, 40});
  const Outcome outcome = Read(grid, Box(grid, {0, 1, 2}, {5, 6, 7}, {25, 26, 27}));
  EXPECT_GT(outcome.share(), 0.9);
  EXPECT_LT(outcome.in_vain(), outcome.read / 20);
}

TEST(ArrayOrder, WhereSlabsOrRowsAreShortTheNextAreFetchedAhead) {
  for (const auto& counts : std::vector<std::vector<uint64_t>>{
           {30, 4, 4}, {40, 40, 1}, {200, 1, 1}, {30, 1, 8}, {1, 20, 20}}) {
    const ChunkGrid grid = Grid(counts);
    const Outcome outcome = Read(grid, Box(grid, {0, 1, 2}, kZero, counts), 64);
    EXPECT_EQ(outcome.read - outcome.ahead, 2U) << testing::PrintToString(counts);
  }
}

TEST(ArrayOrder, RowsOfTwoChunksAreRowsToo) {
  const std::vector<uint64_t> counts = {8, 8, 2};
  const ChunkGrid grid = Grid(counts);
  EXPECT_GT(Read(grid, Box(grid, {0, 1, 2}, kZero, counts), 8).share(), 0.8);
}

TEST(ArrayOrder, TwoReadersAreToldApart) {
  const ChunkGrid grid = Grid(kCounts);
  const auto first = Box(grid, {0, 1, 2}, kZero, kCounts);
  const auto second = Box(grid, {2, 1, 0}, kZero, kCounts);
  std::vector<uint64_t> both;
  for (size_t i = 0; i < first.size() / 2; ++i) {
    both.push_back(first[i]);
    both.push_back(second[i]);
  }
  EXPECT_GT(Read(grid, both).share(), 0.85);
}

TEST(ArrayOrder, ThreadsOfOneReaderNeedNotKeepTheOrder) {
  const ChunkGrid grid = Grid(kLarge);
  for (const size_t threads : {2, 3, 4}) {
    auto chunks = Box(grid, {0, 1, 2}, kZero, kLarge);
    std::minstd_rand random(1);
    const auto step = static_cast<ptrdiff_t>(threads);
    for (auto at = chunks.begin() + 5; at + step <= chunks.end(); at += step) {
      std::shuffle(at, at + step, random);
    }
    const Outcome outcome = Read(grid, chunks, 64);
    EXPECT_GT(outcome.share(), 0.8) << threads;
    EXPECT_LE(outcome.most, 4 * 64U) << threads;
  }
}

// Batches of 17, each but its first chunk from its last to its first, as tensorstore's threads take
// them.
std::vector<uint64_t> BatchesFromTheirEnd(const ChunkGrid& grid) {
  std::vector<uint64_t> chunks;
  for (uint64_t batch = 0; batch < grid.size(); batch += 17) {
    const uint64_t end = std::min(batch + 17, grid.size());
    chunks.push_back(batch);
    for (uint64_t chunk = end; --chunk > batch;) chunks.push_back(chunk);
  }
  return chunks;
}

TEST(ArrayOrder, ThreadsThatTakeBatchesFromTheirEndAreACrowd) {
  const ChunkGrid grid = Grid({16, 16, 8});
  const Outcome outcome = Read(grid, BatchesFromTheirEnd(grid), 128);
  EXPECT_GT(outcome.share(), 0.9);
  EXPECT_EQ(outcome.in_vain(), 0U);
}

TEST(ArrayOrder, AfterACrowdOthersAreWhatTheyAre) {
  for (const uint64_t size : {60, 65, 300}) {
    const ChunkGrid grid = Grid({size});
    ArrayOrder order(grid);
    (void)Read(order, grid, BatchesFromTheirEnd(grid), 64);
    std::vector<uint64_t> chunks(grid.size());
    for (size_t i = 0; i < chunks.size(); ++i) chunks[i] = i;
    auto backward = chunks;
    std::ranges::reverse(backward);
    EXPECT_GT(Read(order, grid, backward, 64).share(), 0.75) << size;
    (void)Read(order, grid, BatchesFromTheirEnd(grid), 64);
    std::ranges::shuffle(chunks, std::minstd_rand(1));
    chunks.resize(size / 3);
    EXPECT_LT(Read(order, grid, chunks, 64).in_vain(), size / 5) << size;
  }
}

TEST(ArrayOrder, ThreadsThatShareTheWayBackAreTakenForNoCrowd) {
  const ChunkGrid grid = Grid({1000});
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::minstd_rand random(seed);
    std::vector<uint64_t> chunks;
    for (uint64_t chunk = 600; chunk-- > 500;) chunks.push_back(chunk);
    for (size_t at = 0; at + 8 <= chunks.size(); at += 4) {
      std::shuffle(chunks.begin() + static_cast<ptrdiff_t>(at),
                   chunks.begin() + static_cast<ptrdiff_t>(at + 8), random);
    }
    ArrayOrder order(grid);
    uint64_t beyond = 0;
    for (const uint64_t chunk : chunks) {
      const auto next = order.OnWanted(InnerIndex{chunk}, 64, [](InnerIndex) { return false; });
      beyond += static_cast<uint64_t>(
          std::ranges::count_if(next.chunks, [](InnerIndex each) { return ToNumber(each) > 608; }));
    }
    EXPECT_LE(beyond, 32U) << seed;
  }
}

TEST(ArrayOrder, AStepToTheNeighbourIsEnoughToBegin) {
  const ChunkGrid grid = Grid({1000});
  ArrayOrder order(grid);
  const auto none = [](InnerIndex) { return false; };
  EXPECT_TRUE(order.OnWanted(InnerIndex{10}, 64, none).chunks.empty());
  EXPECT_EQ(order.OnWanted(InnerIndex{11}, 64, none).chunks,
            (std::vector{InnerIndex{12}, InnerIndex{13}, InnerIndex{14}, InnerIndex{15}}));
}

TEST(ArrayOrder, WhatComesLaterIsToldAsFarAsItIsKnown) {
  const ChunkGrid grid = Grid({4, 4, 8});
  ArrayOrder order(grid);
  ArrayOrder::Next last;
  const auto read_to = [&](uint64_t begin, uint64_t end) {
    for (uint64_t chunk = begin; chunk < end; ++chunk) {
      auto next = order.OnWanted(InnerIndex{chunk}, 8, [](InnerIndex) { return false; });
      if (!next.chunks.empty()) last = std::move(next);
    }
  };
  read_to(0, 6);
  EXPECT_LT(last.later.size(), 8U) << "nobody knows yet what comes after a row";
  read_to(6, 12);
  ASSERT_FALSE(last.later.empty());
  EXPECT_EQ(ToNumber(last.later.front()), ToNumber(last.chunks.back()) + 1);
  EXPECT_EQ(ToNumber(last.later.back()), 31U) << "the end of the slab";
}

TEST(ArrayOrder, RandomReadersGetNothing) {
  for (const auto& counts : {kCounts, std::vector<uint64_t>{960}, std::vector<uint64_t>{30, 32},
                             std::vector<uint64_t>{8, 8, 8}, std::vector<uint64_t>{8, 8, 2}}) {
    const ChunkGrid grid = Grid(counts);
    std::vector<uint64_t> chunks(grid.size());
    for (size_t i = 0; i < chunks.size(); ++i) chunks[i] = i;
    size_t read = 0;
    size_t fetched = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
      std::ranges::shuffle(chunks, std::minstd_rand(seed));
      const Outcome outcome = Read(grid, chunks);
      read += outcome.read;
      fetched += outcome.fetched;
    }
    EXPECT_LT(fetched, read / 20) << testing::PrintToString(counts) << " " << fetched << " "
                                  << read;
  }
}

// Workers of a pool, each of which reads a box after the other from behind a link, on which a chunk
// takes 1; a trip takes 45, and a worker 2 for a chunk.
class Pool {
 public:
  Pool(const ChunkGrid& grid, std::vector<std::vector<uint64_t>> boxes)
      : order_(grid), boxes_(std::move(boxes)) {
    for (const auto& box : boxes_) wanted_ += box.size();
    while (Step()) {
    }
  }
  [[nodiscard]] double link_share() const { return static_cast<double>(wanted_) / end_; }
  /// Chunks that were fetched and not read, of those that were read.
  [[nodiscard]] double in_vain() const {
    return static_cast<double>(arrivals_.size()) / static_cast<double>(wanted_) - 1;
  }

 private:
  static constexpr double kTrip = 45;
  static constexpr double kWork = 2;
  static constexpr size_t kWindow = 128;
  struct Worker {
    double time = 0;
    std::vector<uint64_t> rest{};  // of its box, the next one last
  };

  // The worker whose turn it is reads a chunk. False if all is read.
  bool Step() {
    Worker& worker = *std::ranges::min_element(workers_, {}, &Worker::time);
    if (worker.rest.empty() && boxes_.empty()) {
      std::erase_if(workers_, [&](const Worker& each) { return &each == &worker; });
      return !workers_.empty();
    }
    if (worker.rest.empty()) {
      worker.rest.assign(boxes_.back().rbegin(), boxes_.back().rend());
      boxes_.pop_back();
    }
    const uint64_t chunk = worker.rest.back();
    worker.rest.pop_back();
    const double now = worker.time;
    const auto is_here = [&](InnerIndex each) { return arrivals_.contains(ToNumber(each)); };
    const auto next = order_.OnWanted(InnerIndex{chunk}, kWindow, is_here);
    worker.time = std::max(now, Fetch(chunk, now)) + kWork;
    for (const InnerIndex each : next.chunks) (void)Fetch(ToNumber(each), now);
    end_ = std::max(end_, worker.time);
    return true;
  }
  // When it is there.
  double Fetch(uint64_t chunk, double now) {
    const auto [arrival, is_new] = arrivals_.try_emplace(chunk, 0.0);
    if (is_new) arrival->second = link_free_ = std::max(link_free_, now + kTrip) + 1;
    return arrival->second;
  }

  ArrayOrder order_;
  std::vector<std::vector<uint64_t>> boxes_;
  std::vector<Worker> workers_{4};
  std::map<uint64_t, double> arrivals_;
  size_t wanted_ = 0;
  double link_free_ = 0;
  double end_ = 0;
};

// All boxes of a size in a grid, at random.
std::vector<std::vector<uint64_t>> Boxes(const ChunkGrid& grid, const std::vector<uint64_t>& size,
                                         unsigned seed) {
  std::vector<std::vector<uint64_t>> boxes;
  for (const uint64_t first : Box(grid, {0, 1, 2}, kZero, grid.counts())) {
    ChunkCoordinates at{};
    grid.Coordinates(first, at);
    if (at[0] % size[0] != 0 || at[1] % size[1] != 0 || at[2] % size[2] != 0) continue;
    boxes.push_back(Box(grid, {0, 1, 2}, {at[0], at[1], at[2]},
                        {at[0] + size[0], at[1] + size[1], at[2] + size[2]}));
  }
  std::ranges::shuffle(boxes, std::minstd_rand(seed));
  return boxes;
}

TEST(ArrayOrder, WorkersOfAPoolReadABoxLikeTheOnesBefore) {
  struct Case {
    std::vector<uint64_t> size;
    double link_share;  // at least
    double in_vain;     // at most, if they read a quarter of all boxes
  };
  constexpr unsigned kSeeds = 20;
  for (const Case& boxes : {Case{{4, 4, 8}, 0.7, 0.3}, Case{{4, 4, 4}, 0.65, 0.3},
                            Case{{2, 8, 2}, 0.55, 0.3}, Case{{2, 4, 4}, 0.6, 0.3}}) {
    double link_share = 0;
    double in_vain = 0;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      const ChunkGrid grid = Grid({16, 16, 8});
      link_share += Pool(grid, Boxes(grid, boxes.size, seed)).link_share() / kSeeds;
      const ChunkGrid large = Grid({64, 32, 8});
      auto some = Boxes(large, boxes.size, seed);
      some.resize(some.size() / 4);
      in_vain += Pool(large, some).in_vain() / kSeeds;
    }
    EXPECT_GT(link_share, boxes.link_share) << testing::PrintToString(boxes.size);
    EXPECT_LT(in_vain, boxes.in_vain) << testing::PrintToString(boxes.size);
  }
}

TEST(ArrayOrder, AfterBoxesAlikeNothingBeyondTheNextOneIsFetched) {
  const ChunkGrid grid = Grid({64, 64, 64});
  ArrayOrder order(grid);
  const auto box = [&](uint64_t x, uint64_t y, uint64_t z) {
    return Box(grid, {0, 1, 2}, {x, y, z}, {x + 4, y + 5, z + 6});
  };
  (void)Read(order, grid, box(0, 0, 0), 256);
  (void)Read(order, grid, box(30, 21, 10), 256);
  const Outcome third = Read(order, grid, box(11, 42, 33), 256);
  EXPECT_EQ(third.in_vain(), 0U);
  EXPECT_EQ(third.ahead, third.read - 2) << "all but the first two";
  const Outcome at_the_edge =
      Read(order, grid, Box(grid, {0, 1, 2}, {61, 50, 60}, {64, 55, 64}), 256);
  EXPECT_EQ(at_the_edge.in_vain(), 0U);
  EXPECT_EQ(at_the_edge.ahead, at_the_edge.read - 2);
}

TEST(ArrayOrder, AReaderThatStepsOverTheEndOfTheUsualBoxGetsLittleBeyond) {
  const ChunkGrid grid = Grid({64, 64, 64});
  ArrayOrder order(grid);
  for (const uint64_t at : {0, 30}) {
    (void)Read(order, grid, Box(grid, {0, 1, 2}, {at, at, at}, {at + 4, at + 5, at + 6}), 256);
  }
  // Two are not stored.
  std::vector<uint64_t> row;
  for (const uint64_t z : {0, 1, 2, 3, 4, 7, 8, 9}) {
    row.push_back(grid.Linear(std::vector<uint64_t>{11, 11, z}));
  }
  const Outcome outcome = Read(order, grid, row, 1024);
  EXPECT_LT(outcome.fetched, 4U * 5 * 6 + 20);
}

TEST(ArrayOrder, BesideAPoolNeighboursByChanceAreNoBlock) {
  const ChunkGrid grid = Grid({16, 16, 16});
  const auto fetched_after = [&](std::vector<uint64_t> first) {
    ArrayOrder order(grid);
    for (const uint64_t at : {0, 4}) {
      (void)Read(order, grid, Box(grid, {0, 1, 2}, {at, at, at}, {at + 4, at + 4, at + 4}), 64);
    }
    const uint64_t chunk = grid.Linear(first);
    return Read(order, grid, {chunk, grid.Linear(std::vector<uint64_t>{1, 14, 7}), chunk + 1}, 64)
        .fetched;
  };
  EXPECT_EQ(fetched_after({8, 12, 0}), 62U) << "it begins where a block would";
  EXPECT_EQ(fetched_after({9, 11, 5}), 0U);
}

TEST(ArrayOrder, OfBoxesAlmostAlikeTheSmallestIsExpected) {
  const ChunkGrid grid = Grid({64, 64, 64});
  std::minstd_rand random(1);
  ArrayOrder order(grid);
  size_t read = 0;
  size_t ahead = 0;
  size_t in_vain = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<uint64_t> begin(3);
    std::vector<uint64_t> end(3);
    for (size_t d = 0; d < 3; ++d) {
      begin[d] = random() % 58;
      end[d] = begin[d] + 4 + random() % 2;
    }
    const Outcome outcome = Read(order, grid, Box(grid, {0, 1, 2}, begin, end), 64);
    read += outcome.read;
    ahead += outcome.ahead;
    in_vain += outcome.in_vain();
  }
  EXPECT_LT(in_vain, read / 3);
  EXPECT_GT(ahead, read * 9 / 10);
}

TEST(ArrayOrder, EveryFourthSlabIsFetchedAndNotThoseBetween) {
  const ChunkGrid grid = Grid({40, 6, 8});
  std::vector<uint64_t> chunks;
  for (uint64_t slab = 0; slab < 40; slab += 4) {
    std::ranges::copy(Box(grid, {0, 1, 2}, {slab, 0, 0}, {slab + 1, 6, 8}),
                      std::back_inserter(chunks));
  }
  const Outcome outcome = Read(grid, chunks);
  EXPECT_EQ(outcome.read - outcome.ahead, 4U) << "the first two, and the first ones of two slabs";
  EXPECT_LT(outcome.in_vain(), outcome.read / 20);
}

TEST(ArrayOrder, ThreadsThatBeginASlabEachAreFollowedEach) {
  const ChunkGrid grid = Grid({40, 6, 8});
  std::vector<uint64_t> chunks = Box(grid, {0, 1, 2}, kZero, {1, 6, 8});
  for (uint64_t chunk = 0; chunk < 48; ++chunk) {
    for (const uint64_t slab : {4, 8, 12}) chunks.push_back(slab * 48 + chunk);
  }
  const Outcome outcome = Read(grid, chunks);
  EXPECT_LE(outcome.read - outcome.ahead, 8U);
  EXPECT_LT(outcome.in_vain(), outcome.read / 10);
}

TEST(ArrayOrder, TheWindowIsTheMostThatIsAhead) {
  const ChunkGrid grid = Grid({1000});
  ArrayOrder order(grid);
  uint64_t last = 0;
  for (uint64_t chunk = 0; chunk < 500; ++chunk) {
    for (const InnerIndex next :
         order.OnWanted(InnerIndex{chunk}, 16, [](InnerIndex) { return false; }).chunks) {
      last = ToNumber(next);
    }
    EXPECT_LE(last, chunk + 16);
  }
  EXPECT_GT(last, 500U);
}

}  // namespace
}  // namespace zarrfs::array_order_test
