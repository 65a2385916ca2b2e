#include "zarrcore/view/gdal_crs.h"

#include <gtest/gtest.h>

namespace zarrfs::gdal_crs_test {
namespace {

Json CrsOf(const char* attributes) {
  return MemberOrNull(WithGdalCrs(*ParseJson(attributes, "test")), "_CRS");
}

TEST(GdalCrs, IsWhatTheArrayItselfSays) {
  EXPECT_EQ(CrsOf(R"({"proj:wkt2": "GEOGCRS[]", "proj:code": "EPSG:1"})"),
            (Json{{"wkt", "GEOGCRS[]"}}));
  EXPECT_EQ(CrsOf(R"({"crs_wkt": "GEOGCS[]"})"), (Json{{"wkt", "GEOGCS[]"}}));
  EXPECT_EQ(CrsOf(R"({"spatial_ref": "GEOGCS[]"})"), (Json{{"wkt", "GEOGCS[]"}}));
  EXPECT_EQ(CrsOf(R"({"proj:projjson": {"type": "GeographicCRS"}})"),
            (Json{{"projjson", {{"type", "GeographicCRS"}}}}));
  EXPECT_EQ(CrsOf(R"({"proj:code": "EPSG:32633"})"),
            (Json{{"url", "http://www.opengis.net/def/crs/EPSG/0/32633"}}));
}

TEST(GdalCrs, ItsOwnStaysAndOtherTypesSayNothing) {
  EXPECT_EQ(CrsOf(R"({"_CRS": {"wkt": "a"}, "crs_wkt": "b"})"), (Json{{"wkt", "a"}}));
  for (const char* const attributes :
       {"{}", R"({"proj:wkt2": 5, "crs_wkt": "", "spatial_ref": {}})", R"({"proj:projjson": "{}"})",
        R"({"proj:code": "EPSG"})", R"({"proj:code": "EPSG:"})", R"({"proj:code": 32633})"}) {
    EXPECT_TRUE(CrsOf(attributes).is_null()) << attributes;
  }
}

TEST(GdalCrs, TheNameOfAGridMappingIsItsFirst) {
  const auto name = [](const char* attributes) {
    return GridMappingOf(*ParseJson(attributes, "test"));
  };
  EXPECT_EQ(name(R"({"grid_mapping": "crs"})"), "crs");
  EXPECT_EQ(name(R"({"grid_mapping": "crs: x y other: lat lon"})"), "crs");
  for (const char* const attributes : {"{}", R"({"grid_mapping": ""})", R"({"grid_mapping": 5})",
                                       R"({"grid_mapping": ["crs"]})"}) {
    EXPECT_EQ(name(attributes), "") << attributes;
  }
}

TEST(GdalCrs, AGroupSpeaksForItsArraysAndThoseOfItsPyramid) {
  const auto has_crs = [](const char* attributes, const char* below, Json dimensions = {}) {
    return !GdalCrsOfGroup(*ParseJson(attributes, "test"), below, dimensions).is_null();
  };
  constexpr const char* kCode = R"({"proj:code": "EPSG:4326"})";
  EXPECT_TRUE(has_crs(kCode, "a"));
  EXPECT_FALSE(has_crs(kCode, "g/a"));
  EXPECT_FALSE(has_crs(R"({"crs_wkt": "GEOGCS[]"})", "a")) << "no group has it by CF";
  constexpr const char* kPyramid = R"({"proj:code": "EPSG:4326", "multiscales": {"layout":
      [5, {"asset": 5}, {"asset": "0"}, {"asset": "r/20m"}, {"group": "old"}]}})";
  for (const char* const below : {"0", "0/b", "r/20m/b", "r/20m", "old/b", "b"}) {
    EXPECT_TRUE(has_crs(kPyramid, below)) << below;
  }
  for (const char* const below : {"1/b", "0/b/c", "r/b", "r/20mm/b"}) {
    EXPECT_FALSE(has_crs(kPyramid, below)) << below;
  }
  constexpr const char* kSpatial =
      R"({"proj:code": "EPSG:4326", "spatial:dimensions": ["y", "x"]})";
  EXPECT_TRUE(has_crs(kSpatial, "a", {"t", "y", "x"}));
  EXPECT_FALSE(has_crs(kSpatial, "a", {"t", "x"}));
}

TEST(GdalCrs, ASizeIsAnArrayThatThePyramidListsItself) {
  const Json group =
      *ParseJson(R"({"multiscales": {"layout": [{"asset": "0"}, {"asset": "1/a"}]}})", "test");
  EXPECT_TRUE(IsSizeOf(group, "0"));
  EXPECT_FALSE(IsSizeOf(group, "1"));
  EXPECT_FALSE(IsSizeOf(group, "a"));
  EXPECT_FALSE(IsSizeOf(*ParseJson(R"({"multiscales": [{"asset": "0"}]})", "test"), "0"));
}

}  // namespace
}  // namespace zarrfs::gdal_crs_test
