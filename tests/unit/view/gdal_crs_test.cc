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

}  // namespace
}  // namespace zarrfs::gdal_crs_test
