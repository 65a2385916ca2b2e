#include "zarrcore/icechunk/virtual_prefix.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/option_list.h"

namespace zarrfs::virtual_prefix_test {
namespace {

std::vector<VirtualPrefix> Prefixes(const std::vector<std::string_view>& texts) {
  std::vector<VirtualPrefix> prefixes;
  for (const std::string_view text : texts) prefixes.push_back(ParseVirtualPrefix(text).value());
  return prefixes;
}

// "0 key", or the error.
std::string Match(const std::vector<std::string_view>& prefixes, std::string_view location) {
  const auto place = MatchVirtualLocation(Prefixes(prefixes), location);
  if (!place) return place.error().message;
  return fmt::format("{} {}", place->prefix, place->key);
}

TEST(VirtualPrefixTest, ALocationIsFoundBelowItsPrefix) {
  EXPECT_EQ(Match({"file:///data/nc/"}, "file:///data/nc/a/b.nc"), "0 a/b.nc");
  EXPECT_EQ(Match({"s3://bucket/"}, "s3://bucket/2024/x.nc"), "0 2024/x.nc");
  EXPECT_EQ(Match({"https://host/nc/"}, "https://host/nc/x.nc"), "0 x.nc");
  EXPECT_EQ(Match({"file:///"}, "file:///etc/passwd"), "0 etc/passwd");
}

TEST(VirtualPrefixTest, TheLongestPrefixCounts) {
  const std::vector<std::string_view> prefixes = {"s3://b/", "s3://b/x/y/", "s3://b/x/"};
  EXPECT_EQ(Match(prefixes, "s3://b/x/y/z"), "1 z");
  EXPECT_EQ(Match(prefixes, "s3://b/x/z"), "2 z");
  EXPECT_EQ(Match(prefixes, "s3://b/z"), "0 z");
}

TEST(VirtualPrefixTest, OneFormOfEachAddressIsCompared) {
  EXPECT_EQ(Match({"HTTPS://Host.ORG:443/nc/"}, "https://hOST.org/nc/x"), "0 x");
  EXPECT_EQ(Match({"http://host:80/"}, "http://host/x"), "0 x");
  EXPECT_EQ(Match({"http://[::1]:8080/"}, "http://[::1]:08080/x"), "0 x");
  EXPECT_EQ(Match({"file://localhost/a%20b/"}, "FILE:///a b/%41"), "0 A");
  EXPECT_EQ(Match({"file:///d%C3%A4ten/"}, "file:///d\xC3\xA4ten/x"), "0 x");
}

TEST(VirtualPrefixTest, WhatAPrefixDoesNotCoverIsAnErrorThatNamesThePrefixToAdd) {
  struct Row {
    std::string_view prefix, location, to_add;
  };
  for (const Row& row : std::vector<Row>{
           {"s3://noaa-goes16/", "s3://noaa-goes16-x/a.nc", "s3://noaa-goes16-x/"},
           {"s3://bucket/run/", "s3://bucket/run7/a.nc", "s3://bucket/run7/"},
           {"s3://bucket/run/", "s3://bucket/run", "s3://bucket/"},
           {"s3://bucket/run/", "s3://Bucket/run/x", "s3://Bucket/run/"},
           {"s3://bucket/run/", "s3://bucket/Run/x", "s3://bucket/Run/"},
           {"file:///data/nc/", "file:///etc/passwd", "file:///etc/"},
           {"file:///data/nc/", "file:///data/nc2/x", "file:///data/nc2/"},
           {"file:///data/nc/", "file:///x", "file:///"},
           {"file:///data/nc/", "file:///data/a,b c%2C/x", "file:///data/a%2Cb%20c%2C/"},
           {"https://host/", "http://host/x", "http://host/"},
           {"https://host/", "https://host:444/x", "https://host:444/"},
           {"https://host/", "https://host.evil.org/x", "https://host.evil.org/"},
           {"https://host/", "http://169.254.169.254/latest/x", "http://169.254.169.254/latest/"},
           {"https://host/", "s3://host/x", "s3://host/"},
       }) {
    const auto place = MatchVirtualLocation(Prefixes({row.prefix}), row.location);
    ASSERT_FALSE(place) << row.location;
    EXPECT_EQ(place.error().code, ErrorCode::kUnsupported);
    const std::string option = fmt::format("virtual={}", row.to_add);
    EXPECT_TRUE(place.error().message.ends_with("add -o " + option)) << place.error().message;
    // It is one option, which covers the location.
    EXPECT_EQ(SplitOptions(option), std::vector<std::string>{option});
    EXPECT_TRUE(MatchVirtualLocation(Prefixes({row.to_add}), row.location)) << row.location;
  }
}

TEST(VirtualPrefixTest, WhatMayBeReadAsAnotherAddressIsRefused) {
  const auto prefixes =
      Prefixes({"file:///data/nc/", "s3://b/", "http://h/", "https://h/", "file:///"});
  for (const std::string_view location : std::vector<std::string_view>{
           "",
           "x.nc",
           "/data/nc/x",
           "data/nc/x",
           "file:/data/nc/x",
           "file:x",
           "file://",
           "file:///data/nc/../../etc/passwd",
           "file:///data/nc/..",
           "file:///data/nc/./x",
           "file:///data/nc/%2e%2e/x",
           "file:///data/nc/%2E%2e/x",
           "file:///data/nc/.%2e/x",
           "file:///data/nc/%2e/x",
           "file:///data/nc/..%2fx",
           "file:///data/nc/a%2Fb",
           "file:///data/nc//x",
           "file:////data/nc/x",
           "file:///data/nc/x/",
           "file:///data/nc/",
           "file:///data/nc/%00",
           "file:///data/nc/x%0a",
           "file:///data/nc/x\ny",
           "file:///data/nc/x%",
           "file:///data/nc/x%4",
           "file:///data/nc/x%zz",
           "file:///data/nc/a\\..\\x",
           "file:///data/nc/..%5cx",
           "file:///data/nc/x?y",
           "file:///data/nc/x#y",
           "file://host/data/nc/x",
           "file://user@/data/nc/x",
           "file://127.0.0.1/data/nc/x",
           " file:///data/nc/x",
           "file ://data/nc/x",
           "s3://b",
           "s3:///x",
           "s3://b/../x",
           "s3://b/%2e%2e/x",
           "s3://b//x",
           "s3://u@b/x",
           "s3://b:80/x",
           "s3://b%2Fc/x",
           "s3://../x",
           "s3://b b/x",
           "s3://b/x?versionId=1",
           "http://h",
           "http://u@h/x",
           "http://u:p@h/x",
           "http://h@evil/x",
           "http://h%00/x",
           "http://h:/x",
           "http://h:0/x",
           "http://h:65536/x",
           "http://h:80x/x",
           "http://h:-1/x",
           "http://h./x",
           "http://.h/x",
           "http://h..i/x",
           "http://[::1/x",
           "http://[]/x",
           "http://[::1]x/x",
           "http://h\\@evil/x",
           "http:///x",
           "http://h\t/x",
           "http://\xC4\xA5/x",
           "https://h/a/..",
           "ftp://h/x",
           "gopher://h/x",
           "javascript:x",
           "vcc://name/x",
           "file:///proc/self/../x",
       }) {
    const auto place = MatchVirtualLocation(prefixes, location);
    ASSERT_FALSE(place) << location << " -> " << place->key;
    EXPECT_EQ(place.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(place.error().message.find("add -o"), std::string::npos) << place.error().message;
  }
  EXPECT_FALSE(
      MatchVirtualLocation(prefixes, "file:///data/nc/" + std::string(kMaxVirtualLocation, 'x')));
  using std::string_view_literals::operator""sv;
  EXPECT_FALSE(MatchVirtualLocation(prefixes, "file:///data/nc/a\0b"sv));
}

TEST(VirtualPrefixTest, APrefixIsAFolder) {
  for (const std::string_view text :
       {"", "s3://noaa-goes16", "file:///data/nc", "/data/nc/", "file://data/nc/", "s3:///",
        "https://u:p@h/", "file:///data/../etc/", "https://h/?x/", "az://a/b/", "file:///a//"}) {
    const auto prefix = ParseVirtualPrefix(text);
    ASSERT_FALSE(prefix) << text;
    EXPECT_EQ(prefix.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(ParseVirtualPrefix("s3://noaa-goes16").error().message,
            "s3://noaa-goes16: no '/' follows its host or bucket");
  EXPECT_EQ(ParseVirtualPrefix("file:///data/nc").error().message,
            "file:///data/nc: it must end in '/'");
  EXPECT_EQ(ParseVirtualPrefix("FILE://localhost/a%2cb/").value().Text(), "file:///a%2Cb/");
  EXPECT_EQ(ParseVirtualPrefix("file:///a%2cb/c/").value().Path(), "/a,b/c");
  EXPECT_EQ(ParseVirtualPrefix("file:///").value().Path(), "/");
}

}  // namespace
}  // namespace zarrfs::virtual_prefix_test
