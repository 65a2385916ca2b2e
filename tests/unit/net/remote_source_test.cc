#include "zarrcore/net/remote_source.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace zarrfs::remote_source_test {
namespace {

class RemoteSourceTest : public ::testing::Test {
 protected:
  RemoteSourceTest() {
    for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3",
                             "AWS_ENDPOINT_URL", "AWS_PROFILE", "HOME"}) {
      unsetenv(name);
    }
  }
  RemoteOptions options_;
};

TEST_F(RemoteSourceTest, BucketOfAmazonIsPartOfTheHost) {
  options_.region = "eu-central-1";
  const auto source = ParseRemoteSource("s3://ocean-data/a b/x=1.zarr/", options_);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_TRUE(source->is_s3);
  EXPECT_EQ(source->name, "s3://ocean-data/a b/x=1.zarr");
  EXPECT_EQ(source->url, "https://ocean-data.s3.eu-central-1.amazonaws.com/a%20b/x%3D1.zarr");
  EXPECT_EQ(source->list_url, "https://ocean-data.s3.eu-central-1.amazonaws.com");
  EXPECT_EQ(source->prefix, "a b/x=1.zarr/");
}

TEST_F(RemoteSourceTest, BucketElsewhereIsPartOfThePath) {
  options_.endpoint = "http://minio:9000/";
  const auto source = ParseRemoteSource("s3://Bucket.with.dots", options_);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->url, "http://minio:9000/Bucket.with.dots");
  EXPECT_EQ(source->list_url, source->url);
  EXPECT_EQ(source->prefix, "");
  EXPECT_EQ(source->region, "us-east-1");
}

TEST_F(RemoteSourceTest, AmazonInChinaHasADomainOfItsOwn) {
  options_.region = "cn-north-1";
  EXPECT_EQ(ParseRemoteSource("s3://ocean-data/x", options_)->url,
            "https://ocean-data.s3.cn-north-1.amazonaws.com.cn/x");
  EXPECT_EQ(AmazonsDomain("eu-central-1"), "amazonaws.com");
}

TEST_F(RemoteSourceTest, BucketOfGoogleIsAtItsOneAddress) {
  setenv("AWS_ENDPOINT_URL", "https://minio.example.org", 1);
  setenv("AWS_REGION", "eu-central-1", 1);
  const auto source = ParseRemoteSource("gs://ocean-data/a b.zarr/", options_);
  unsetenv("AWS_ENDPOINT_URL");
  unsetenv("AWS_REGION");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_TRUE(source->is_s3 && source->is_region_known && source->is_endpoint_known);
  EXPECT_EQ(source->name, "gs://ocean-data/a b.zarr");
  EXPECT_EQ(source->url, "https://storage.googleapis.com/ocean-data/a%20b.zarr");
  EXPECT_EQ(source->list_url, "https://storage.googleapis.com/ocean-data");
  EXPECT_EQ(source->region, "auto");
  options_.endpoint = "http://fake:4443";
  EXPECT_EQ(ParseRemoteSource("gs://ocean-data/x", options_)->url, "http://fake:4443/ocean-data/x");
}

TEST_F(RemoteSourceTest, ContainerOfAzureIsAWebServer) {
  const auto source = ParseRemoteSource("az://oceans/data/a b.zarr/", options_);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_FALSE(source->is_s3);
  EXPECT_EQ(source->url, "https://oceans.blob.core.windows.net/data/a%20b.zarr");
  options_.endpoint = "http://azurite:10000/";
  EXPECT_EQ(ParseRemoteSource("az://oceans/data", options_)->url,
            "http://azurite:10000/oceans/data");
  for (const char* address :
       {"az://", "az://oceans", "az://oceans/", "az://oceans//x", "az://a.b/c"}) {
    EXPECT_FALSE(ParseRemoteSource(address, options_)) << address;
  }
}

TEST_F(RemoteSourceTest, PortThatIsTheSchemesOwnIsLeftOut) {
  EXPECT_EQ(ParseRemoteSource("https://host:443/x", options_)->url, "https://host/x");
  EXPECT_EQ(ParseRemoteSource("https://host:80/x", options_)->url, "https://host:80/x");
}

TEST_F(RemoteSourceTest, SecretsInAnAddressAreRefusedAndNotRepeated) {
  for (const char* address : {"https://user:secret@host/x", "https://host/x?sig=secret"}) {
    const auto source = ParseRemoteSource(address, options_);
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().message.find("secret"), std::string::npos) << source.error().message;
  }
}

TEST_F(RemoteSourceTest, WhatIsNoAddressIsRefused) {
  for (const char* address : {"s3://", "s3:///x", "https://", "http://:80/x", "https://a b/x"}) {
    EXPECT_FALSE(ParseRemoteSource(address, options_)) << address;
  }
}

TEST_F(RemoteSourceTest, OptionsTakeWhatTheyTake) {
  EXPECT_TRUE(SetRemoteOption("timeout", "5", options_));
  EXPECT_EQ(options_.timeout, 5U);
  EXPECT_TRUE(SetRemoteOption("absent", "403", options_));
  EXPECT_TRUE(options_.forbidden_is_absent);
  EXPECT_TRUE(SetRemoteOption("bandwidth", "64k", options_));
  EXPECT_EQ(options_.bandwidth, 64U << 10);
  for (const auto& [name, value] : {std::pair{"timeout", "0"},
                                    {"bandwidth", "63k"},
                                    {"timeout", "x"},
                                    {"absent", "500"},
                                    {"connections", "1000"},
                                    {"endpoint", ""},
                                    {"no", "1"}}) {
    EXPECT_FALSE(SetRemoteOption(name, value, options_)) << name << "=" << value;
  }
}

TEST_F(RemoteSourceTest, OptionsAreSplitLikeThoseOfAMount) {
  const char* list = R"(region=a\,b,context="x,timeout=5,y",profile=c\d)";
  EXPECT_FALSE(ParseRemoteOptions(list, /*may_have_others=*/false));
  const auto options = ParseRemoteOptions(list, /*may_have_others=*/true);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->region, "a,b");
  EXPECT_EQ(options->timeout, RemoteOptions().timeout) << "is part of another option";
  EXPECT_EQ(options->profile, "c\\d");
}

TEST_F(RemoteSourceTest, PrefixesOfVirtualChunksHaveNothingOfTheStoreButItsTimeout) {
  options_.region = "eu-central-1";
  options_.endpoint = "https://private:9000";
  options_.headers_file = "/headers";
  options_.profile = "mine";
  options_.requester_pays = options_.forbidden_is_absent = true;
  options_.timeout = 7;
  std::vector<VirtualPrefix> prefixes;
  for (const char* const prefix :
       {"s3://noaa-goes16/", "file:///data/", "s3://noaa-goes16/ABI%20L1/x%3D1/",
        "https://Host:8443/a%20b/", "http://[::1]:80/"}) {
    prefixes.push_back(*ParseVirtualPrefix(prefix));
  }
  for (const char* const store : {"/data/ocean.icechunk", "s3://mine/ocean.icechunk"}) {
    const auto fetched = ParseRemoteSource(store, options_, prefixes);
    ASSERT_TRUE(fetched) << fetched.error().message;
    EXPECT_EQ(fetched->url.empty(), store[0] == '/') << "local files are not fetched";
    ASSERT_EQ(fetched->prefixes.size(), 4U);
    const std::vector<std::string> urls = {
        "https://noaa-goes16.s3.us-east-1.amazonaws.com",
        "https://noaa-goes16.s3.us-east-1.amazonaws.com/ABI%20L1/x%3D1",
        "https://host:8443/a%20b",
        "http://[::1]",
    };
    for (size_t number = 0; number < urls.size(); ++number) {
      const RemoteSource& prefix = fetched->prefixes[number];
      EXPECT_EQ(prefix.url, urls[number]);
      EXPECT_TRUE(prefix.is_virtual && prefix.options.anonymous && prefix.is_region_known &&
                  prefix.is_endpoint_known);
      RemoteOptions expected;
      expected.anonymous = true;
      expected.timeout = 7;
      EXPECT_EQ(prefix.options, expected);
    }
  }
  EXPECT_FALSE(ParseRemoteSource("s3://", options_, prefixes));
}

TEST_F(RemoteSourceTest, PercentCodingIsItsOwnOpposite) {
  const std::string text = "a/b c+d=%\xc3\xbc~";
  EXPECT_EQ(PercentEncode(text), "a/b%20c%2Bd%3D%25%C3%BC~");
  EXPECT_EQ(PercentDecode(PercentEncode(text)), text);
  EXPECT_EQ(PercentDecode("a+b%2"), "a b%2");
}

}  // namespace
}  // namespace zarrfs::remote_source_test
