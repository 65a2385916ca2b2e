#include "zarrcore/metadata/nczarr.h"

#include <gtest/gtest.h>

namespace zarrfs::nczarr_test {
namespace {

TEST(Nczarr, NotesAreObjectsOrTheTextOfOne) {
  const Json attributes = {{"title", "t"},
                           {"_nczarr_array", {{"storage", "chunked"}}},
                           {"_NCZARR_ATTR", R"({"types": {"title": ">S1"}})"}};
  EXPECT_EQ(WithoutNczarr(attributes), (Json{{"title", "t"}}));
}

TEST(Nczarr, OtherValuesOfTheirNamesAreTheUsers) {
  const Json attributes = {{"_NCZARR_ATTR", "text"},
                           {"_nczarr_group", 5},
                           {"_nczarr_array", "{half"},
                           {"nczarr", Json::object()}};
  EXPECT_EQ(WithoutNczarr(attributes), attributes);
  EXPECT_TRUE(IsNczarrName("_NCZARR_ATTR"));
  EXPECT_FALSE(IsNczarrName("nczarr"));
}

}  // namespace
}  // namespace zarrfs::nczarr_test
