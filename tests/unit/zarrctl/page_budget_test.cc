#include <gtest/gtest.h>

#include "tests/unit/array/array_testing.h"
#include "tools/zarrctl/page/budget.h"
#include "tools/zarrctl/page/plane.h"

namespace zarrfs::ctl::page_budget_test {
namespace {

using std::chrono::seconds;

struct Fixture {
  std::chrono::steady_clock::time_point now{};
  PageBudget Budget(const PageLimits& limits = {}) {
    return PageBudget(limits, [this] { return now; });
  }
};

TEST(PageBudget, EndsAfterItsTimeAndSaysSo) {
  Fixture at;
  const PageBudget budget = at.Budget({.time = seconds(60)});
  const auto is_over = budget.EndOf(seconds(10));
  const auto is_late = budget.EndOf(seconds(100));
  at.now += seconds(9);
  EXPECT_FALSE(is_over());
  at.now += seconds(1);
  EXPECT_TRUE(is_over());
  EXPECT_FALSE(budget.is_over());
  EXPECT_EQ(budget.WhyNoPicture(), "");
  at.now += seconds(50);
  EXPECT_TRUE(budget.is_over());
  EXPECT_TRUE(is_late());
  EXPECT_EQ(budget.WhyNoPicture(), "60 seconds have passed");
}

TEST(PageBudget, LimitsThePictures) {
  Fixture at;
  PageBudget budget = at.Budget({.pictures = 2});
  budget.CountPicture();
  EXPECT_EQ(budget.WhyNoPicture(), "");
  budget.CountPicture();
  EXPECT_EQ(budget.WhyNoPicture(), "the page has 2 pictures already");
}

TEST(PageBudget, PicturesLeaveRoomForText) {
  Fixture at;
  PageBudget budget = at.Budget({.file_bytes = 1'000'000});
  EXPECT_FALSE(budget.TakePicture(800'000));
  EXPECT_TRUE(budget.TakePicture(600'000));
  EXPECT_FALSE(budget.TakePicture(200'000));
  EXPECT_TRUE(budget.TakeText(300'000));
  EXPECT_FALSE(budget.TakeText(100'000));
  EXPECT_FALSE(budget.TakeText(UINT64_MAX));
  EXPECT_TRUE(budget.TakeText(1));
}

struct Made {
  ArrayMetadata metadata;
  ArrayLayout layout;
};

Made MadeArray(std::string_view shape, std::string_view chunks, std::string_view more = "{}") {
  ArrayMetadata metadata = Array(shape, chunks, kBytesCodec, more);
  ArrayLayout layout = LayoutOf(metadata);
  return {std::move(metadata), std::move(layout)};
}

TEST(Plane, IsTheFirstStepAndTheMiddleOfOtherAxes) {
  const Made array = MadeArray("[10, 20, 30, 40]", "[1, 1, 30, 40]",
                               R"({"dimension_names": ["time", "depth", "lat", "lon"]})");
  const auto plane = ChoosePlane(array.metadata, array.layout, {}, {});
  ASSERT_TRUE(plane);
  EXPECT_EQ(plane->at, (std::vector<uint64_t>{0, 10, 0, 0}));
  EXPECT_EQ(plane->row_axis, 2U);
  EXPECT_EQ(DescribePlane(array.metadata, {}, *plane), "time 0 of 10, depth 10 of 20");
}

TEST(Plane, StaysWithinItsChunks) {
  const Made array = MadeArray("[1000, 4000]", "[10, 10]");
  const auto plane = ChoosePlane(array.metadata, array.layout, {}, {.chunks = 64});
  ASSERT_TRUE(plane);
  EXPECT_EQ(plane->rows.size(), 80U);
  EXPECT_EQ(plane->columns.size(), 80U);
  EXPECT_EQ(DescribePlane(array.metadata, {}, *plane),
            "axis 0 460 to 539 of 1000, axis 1 1960 to 2039 of 4000");
  const Made flat = MadeArray("[1000, 4000]", "[1, 4000]");
  const auto rows = ChoosePlane(flat.metadata, flat.layout, {}, {.chunks = 64});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->rows.size(), 64U);
  EXPECT_EQ(rows->columns.size(), 4000U);
}

TEST(Plane, StaysWithinItsBytes) {
  const Made array = MadeArray("[100, 100]", "[10, 10]");
  const auto few = ChoosePlane(array.metadata, array.layout, {}, {.decoded_bytes = 450});
  ASSERT_TRUE(few);
  EXPECT_EQ(few->rows.size() * few->columns.size(), 400U);
  const auto none = ChoosePlane(array.metadata, array.layout, {}, {.decoded_bytes = 99});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kTooLarge);
}

TEST(Plane, OfColoursHasThreeChannels) {
  const Made array = MadeArray("[50, 60, 4]", "[50, 60, 4]");
  const auto plane = ChoosePlane(array.metadata, array.layout, {}, {});
  ASSERT_TRUE(plane);
  EXPECT_TRUE(plane->is_rgb);
  EXPECT_EQ(plane->row_axis, 0U);
  EXPECT_EQ(plane->column_axis, 1U);
  EXPECT_EQ(plane->channel_count(), 3U);
}

}  // namespace
}  // namespace zarrfs::ctl::page_budget_test
