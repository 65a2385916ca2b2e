#include "zarrcore/content/chunk_sums.h"

#include <gtest/gtest.h>

#include <vector>

namespace zarrfs::chunk_sums_test {
namespace {

constexpr SumKinds kOne = {true};

std::vector<std::byte> BytesFrom(size_t begin, size_t end) {
  std::vector<std::byte> bytes;
  for (size_t i = begin; i < end; ++i) bytes.push_back(static_cast<std::byte>(i * 37));
  return bytes;
}

class ChunkSumsTest : public testing::Test {
 protected:
  std::optional<Sums> Add(const ChunkSums::Taken& taken) {
    std::vector<Sums> sums;
    for (const auto& run : taken.runs) sums.push_back(SumsOf(BytesFrom(run.begin, run.end), kOne));
    return sums_.Add(kKey, taken.runs, sums, kOne, 100);
  }

  static constexpr ChunkSums::Key kKey{1, InnerIndex{7}, 3};
  ChunkSums sums_;
};

TEST_F(ChunkSumsTest, PartsInAnyOrderAndTwiceGiveTheSumOfAll) {
  const auto back = sums_.Take(kKey, {}, 60, 100);
  const auto front = sums_.Take(kKey, {}, 0, 70);
  ASSERT_EQ(front.runs.size(), 1U);
  EXPECT_EQ(front.runs[0].end, 60U) << "the rest is taken";
  EXPECT_EQ(Add(back), std::nullopt);
  EXPECT_EQ(Add(front), SumsOf(BytesFrom(0, 100), kOne));
  EXPECT_TRUE(sums_.Take(kKey, {}, 0, 10).is_alone) << "it is forgotten";
}

TEST_F(ChunkSumsTest, PartsThatWereNotReadAreAddedLater) {
  const auto failed = sums_.Take(kKey, {}, 0, 100);
  sums_.Release(kKey, failed.runs);
  EXPECT_EQ(Add(failed), std::nullopt) << "another READ's, by then";
  EXPECT_EQ(Add(sums_.Take(kKey, {}, 0, 100)), SumsOf(BytesFrom(0, 100), kOne));
}

TEST_F(ChunkSumsTest, TooManyPartsAreDropped) {
  for (uint64_t i = 0; i < 40; ++i) {
    const auto taken = sums_.Take(kKey, {}, 2 * i, 2 * i + 1);
    EXPECT_EQ(Add(taken), std::nullopt);
  }
  for (uint64_t i = 50; i > 40; --i) (void)sums_.Take(kKey, {}, 2 * i - 1, 2 * i);
  EXPECT_EQ(Add(sums_.Take(kKey, {}, 0, 80)), std::nullopt);
}

}  // namespace
}  // namespace zarrfs::chunk_sums_test
