#include "fs/options/options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/unit/options/parsed_options.h"

namespace zarrfs::options_test {
namespace {

TEST(OptionsTest, CommasCanBeEscapedOrQuoted) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(SplitOptions("a,,b,"), (Words{"a", "b"}));
  EXPECT_EQ(SplitOptions(R"(a=x\,y,b)"), (Words{"a=x,y", "b"}));
  EXPECT_EQ(SplitOptions(R"(a=x\\,b)"), (Words{R"(a=x\)", "b"}));
  EXPECT_EQ(SplitOptions(R"(a=\x\)"), (Words{R"(a=\x\)"}));
  EXPECT_EQ(SplitOptions(R"(context="s0:c1,c2",b)"), (Words{R"(context="s0:c1,c2")", "b"}));
  for (const std::string word : {"a=\"x", "a=\"x,y\"", "a=x\\,\"", "a=\"\"\",b"}) {
    EXPECT_EQ(SplitOptions(EscapeOption(word) + ",b"), (Words{word, "b"})) << EscapeOption(word);
  }
}

TEST(OptionsTest, CachesMayReuseAnswersForHalfOfTtl) {
  const auto window = [](const char* options) {
    return FetchOptions(Options(options)).cache_window_ms;
  };
  EXPECT_EQ(window(""), 1000U);
  EXPECT_EQ(window("ttl=60"), 30'000U);
  EXPECT_EQ(window("ttl=0.5"), 250U);
  EXPECT_EQ(window("ttl=0"), 0U);
  EXPECT_EQ(window("ttl=1e300"), 1'000'000'000'000'000U);
  EXPECT_EQ(window("ttl=1,immutable"), RemoteOptions::kForever);
}

TEST(OptionsTest, CachesAreNamedOneByOne) {
  EXPECT_EQ(Options("via=http://a:80,via=https://b:443/,via=http://a:80").remote.caches,
            (std::vector<std::string>{"http://a:80", "https://b:443"}));
  EXPECT_EQ(ErrorOf("via=cache1:8080"),
            "option 'via=cache1:8080': expected http://HOST:PORT or https://HOST:PORT, without a "
            "path or user name (zarrfs --help lists them)");
}

TEST(OptionsTest, LinksAreFollowedUnlessOthersHaveAccess) {
  const auto links = [](const char* options) { return ToString(LinksInForce(Options(options))); };
  EXPECT_EQ(links("noallow_other"), "follow");
  EXPECT_EQ(links("allow_other"), "inside");
  EXPECT_EQ(links("umask=0"), geteuid() == 0 ? "inside" : "follow");
  EXPECT_EQ(links("allow_other,links=follow"), "follow");
  EXPECT_EQ(links("noallow_other,links=inside"), "inside");
  EXPECT_EQ(links("links=/data/.git/annex/objects:/disk2"), "/data/.git/annex/objects:/disk2");
}

}  // namespace
}  // namespace zarrfs::options_test
