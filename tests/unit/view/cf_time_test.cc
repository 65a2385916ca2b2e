#include <gtest/gtest.h>

#include <string>

#include "zarrcore/view/v2_attributes.h"

namespace zarrfs::cf_time_test {
namespace {

Json CfTimeOf(Json attributes, const DataType& type) {
  std::vector<std::string> notes;
  Json shown = WithCfTime(std::move(attributes), type, notes);
  EXPECT_TRUE(notes.empty());
  return shown;
}

DataType Date(std::string_view name, std::string_view unit, int scale) {
  const auto type = ParseDataType(
      Json{{"name", name}, {"configuration", {{"unit", unit}, {"scale_factor", scale}}}}, "k");
  EXPECT_TRUE(type) << type.error().message;
  return *type;
}
DataType Datetime(std::string_view unit, int scale = 1) {
  return Date("numpy.datetime64", unit, scale);
}
DataType Timedelta(std::string_view unit, int scale = 1) {
  return Date("numpy.timedelta64", unit, scale);
}

TEST(CfTime, DatetimesCountFromTheEpoch) {
  EXPECT_EQ(CfTimeOf(Json::object(), Datetime("D")).dump(),
            R"({"_FillValue":-9223372036854775808,"units":"days since 1970-01-01",)"
            R"("calendar":"proleptic_gregorian"})");
  for (const auto& [unit, cf] : {std::pair("h", "hours"), std::pair("m", "minutes"),
                                 std::pair("s", "seconds"), std::pair("ms", "milliseconds"),
                                 std::pair("us", "microseconds"), std::pair("ns", "nanoseconds")}) {
    EXPECT_EQ(CfTimeOf(Json::object(), Datetime(unit))["units"],
              fmt::format("{} since 1970-01-01", cf));
  }
}

TEST(CfTime, TimedeltasHaveAUnitAlone) {
  EXPECT_EQ(CfTimeOf(Json::object(), Timedelta("ms")).dump(),
            R"({"_FillValue":-9223372036854775808,"units":"milliseconds"})");
}

TEST(CfTime, StepsThatCfHasNoUnitForAreNamedAsNumpyDoes) {
  EXPECT_EQ(CfTimeOf(Json::object(), Datetime("us", 10)).dump(),
            R"({"_FillValue":-9223372036854775808,"zarr_dtype":"datetime64[10us]"})");
  EXPECT_EQ(CfTimeOf(Json::object(), Timedelta("W"))["zarr_dtype"], "timedelta64[W]");
  for (const char* unit : {"Y", "M", "W", "ps", "fs", "as", "generic"}) {
    EXPECT_FALSE(CfTimeOf(Json::object(), Datetime(unit)).contains("units")) << unit;
  }
}

TEST(CfTime, AttributesThatAreThereStay) {
  const Json given = {{"units", "days since 2000-01-01"}, {"_FillValue", 0}};
  EXPECT_EQ(CfTimeOf(given, Datetime("s")), given);
  EXPECT_EQ(CfTimeOf(Json{{"calendar", "noleap"}}, Datetime("s"))["calendar"], "noleap");
  EXPECT_EQ(CfTimeOf(Json{{"zarr_dtype", 1}}, Datetime("Y"))["zarr_dtype"], 1);
}

TEST(CfTime, OtherTypesAreLeftAlone) {
  const auto type = ParseDataType("int64", "k");
  EXPECT_EQ(CfTimeOf(Json{{"a", 1}}, *type), (Json{{"a", 1}}));
}

}  // namespace
}  // namespace zarrfs::cf_time_test
