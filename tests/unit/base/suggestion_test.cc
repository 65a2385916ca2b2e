#include "zarrcore/base/suggestion.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace zarrfs::suggestion_test {
namespace {

constexpr std::array<std::string_view, 5> kKnown = {"view", "cache", "index_cache", "immutable",
                                                    "ttl"};

TEST(SuggestionTest, TheNearestWordIsNamed) {
  EXPECT_EQ(DidYouMean("veiw", kKnown), ": did you mean 'view'?");
  EXPECT_EQ(DidYouMean("imutable", kKnown), ": did you mean 'immutable'?");
  EXPECT_EQ(DidYouMean("cach", kKnown), ": did you mean 'cache'?");
  EXPECT_EQ(DidYouMean("index-cache", kKnown), ": did you mean 'index_cache'?");
  EXPECT_EQ(DidYouMean("tt", kKnown), ": did you mean 'ttl'?");
}

TEST(SuggestionTest, NothingIsNamedIfNothingIsNear) {
  EXPECT_EQ(DidYouMean("foo", kKnown), "");
  EXPECT_EQ(DidYouMean("", kKnown), "");
  EXPECT_EQ(DidYouMean(std::string(1'000'000, 'v'), kKnown), "");
}

}  // namespace
}  // namespace zarrfs::suggestion_test
