#include "zarrcore/base/recent_records.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace zarrfs::recent_records_test {
namespace {

struct Record {
  uint64_t value = 0;
  uint32_t previous = 0;
  [[nodiscard]] size_t Hash() const { return value % 7; }  // puts many records in each bucket
};

using Records = RecentRecords<Record>;

uint32_t Find(const Records& records, uint64_t value) {
  return records
      .FindNewest(Record{value}.Hash(), [&](const Record& record) { return record.value == value; })
      .number;
}

TEST(RecentRecords, AreFoundByNumberAndByContentUntilTheyAreGivenUp) {
  for (const size_t limit : {1U, 2U, 100U, 5000U}) {
    Records records(limit);
    EXPECT_EQ(Find(records, 1), 0U);
    EXPECT_EQ(records.At(0), nullptr);
    EXPECT_EQ(records.At(1), nullptr);
    for (uint64_t i = 1; i <= 12'000; ++i) {
      ASSERT_EQ(records.Add({i}), i);
      ASSERT_EQ(Find(records, i), i);
      const uint64_t oldest = i < limit ? 1 : i - limit + 1;
      ASSERT_EQ(records.At(static_cast<uint32_t>(oldest))->value, oldest);
      ASSERT_EQ(records.At(static_cast<uint32_t>(oldest - 1)), nullptr);
      if (i % 1000 == 0) {
        ASSERT_EQ(Find(records, oldest), oldest);
        ASSERT_EQ(Find(records, oldest - 1), 0U);
      }
    }
    EXPECT_EQ(records.size(), limit);
  }
}

TEST(RecentRecords, TheNewestOfEqualOnesIsFound) {
  Records records(10);
  (void)records.Add({1});
  (void)records.Add({1});
  (void)records.Add({8});  // in the same bucket
  EXPECT_EQ(Find(records, 1), 2U);
}

}  // namespace
}  // namespace zarrfs::recent_records_test
