#include "zarrcore/net/cache_address.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "zarrcore/net/remote_source.h"

namespace zarrfs::cache_address_test {
namespace {

TEST(CacheAddressTest, AnAddressIsASchemeAHostAndAPort) {
  EXPECT_EQ(ParseCacheAddress("http://cache1:8080"), "http://cache1:8080");
  EXPECT_EQ(ParseCacheAddress("https://cache-1.example.org:443/"),
            "https://cache-1.example.org:443");
  EXPECT_EQ(ParseCacheAddress("http://[fd00::1]:80"), "http://[fd00::1]:80");
  for (const char* text :
       {"", "cache1:8080", "http://cache1", "http://:8080", "http://cache1:", "http://cache1:0",
        "http://cache1:65536", "http://cache1:80/x", "http://me:pass@cache1:80", "http://a b:80",
        "socks5://cache1:1080", "http://fd00::1:80", "http://cache1:80?x", "http://cache1\r:80"}) {
    EXPECT_FALSE(ParseCacheAddress(text)) << text;
  }
}

TEST(CacheAddressTest, TheOptionMayBeGivenSeveralTimes) {
  RemoteOptions options;
  for (const char* value : {"http://a:1", "http://b:1", "http://a:1/"}) {
    EXPECT_TRUE(SetRemoteOption("via", value, options)) << value;
  }
  EXPECT_EQ(options.caches, (std::vector<std::string>{"http://a:1", "http://b:1"}));
  for (size_t i = 3; i <= kMaxCaches; ++i) {
    EXPECT_TRUE(AddCacheAddress("http://c:" + std::to_string(i), options.caches));
  }
  EXPECT_FALSE(AddCacheAddress("http://d:1", options.caches));
}

TEST(CacheAddressTest, SecretsAreNotSentToACacheWithoutTls) {
  const auto check = [](const std::string& cache, const std::string& option) {
    RemoteOptions options;
    EXPECT_TRUE(SetRemoteOption("via", cache, options));
    EXPECT_TRUE(SetRemoteOption(option, "/etc/hostname", options));
    return CheckCaches(*ParseRemoteSource("https://host/x.zarr", options));
  };
  for (const char* option : {"headers", "query"}) {
    const auto refused = check("http://cache1:80", option);
    ASSERT_FALSE(refused) << option;
    EXPECT_TRUE(refused.error().message.starts_with("via=http://cache1:80: the secrets of " +
                                                    std::string(option) + "= would be sent"))
        << refused.error().message;
    EXPECT_TRUE(check("https://cache1:80", option)) << option;
  }
  EXPECT_TRUE(check("http://cache1:80", "list"));
}

TEST(CacheAddressTest, APasswordInNetrcBelongsToAHostOrToAll) {
  EXPECT_TRUE(HasLoginFor("machine a login me\n machine host\npassword x", "host"));
  EXPECT_TRUE(HasLoginFor("default login me password x", "host"));
  EXPECT_FALSE(HasLoginFor("machine a.host login host password x", "host"));
  EXPECT_FALSE(HasLoginFor("", "host"));
}

}  // namespace
}  // namespace zarrfs::cache_address_test
