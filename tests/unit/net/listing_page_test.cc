#include "zarrcore/net/listing_page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace zarrfs::listing_page_test {
namespace {

std::string Page(const std::string& inner) {
  return "<?xml version=\"1.0\"?><ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         inner + "</ListBucketResult>";
}

TEST(ListingPageTest, GivesNamesBelowTheFolder) {
  const auto page = ParseListingPage(
      Page("<Prefix>p/a/</Prefix><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
           "<NextContinuationToken>t+/=</NextContinuationToken>"
           "<Contents><Key>p/a/</Key></Contents><Contents><Key>p/a/x+y%2Bz</Key></Contents>"
           "<CommonPrefixes><Prefix>p/a/c/</Prefix></CommonPrefixes>"),
      "a");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->entries,
            (std::vector<ListEntry>{{.name = "x y+z"}, {.name = "c", .is_folder = true}}));
  EXPECT_EQ(page->continuation, "t+/=");
}

TEST(ListingPageTest, NamesAreAsTheyAreUnlessTheAnswerSaysThatTheyAreEncoded) {
  const auto page =
      ParseListingPage(Page("<Prefix></Prefix><Contents><Key>x+%41&amp;&lt;</Key></Contents>"), "");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries.at(0).name, "x+%41&<");
}

TEST(ListingPageTest, GivesVersionsAsRequestsForTheObjectsStateThem) {
  const auto object = [](std::string_view size, std::string_view etag, std::string_view time) {
    const auto page = ParseListingPage(
        Page(fmt::format("<Prefix></Prefix><Contents><Key>x</Key><Size>{}</Size><ETag>{}</ETag>"
                         "<LastModified>{}</LastModified></Contents>",
                         size, etag, time)),
        "");
    return page->versions.at(0);
  };
  const auto version = object("12", "&quot;0af&quot;", "2024-02-29T12:00:01.987Z");
  ASSERT_TRUE(version);
  EXPECT_EQ(version->size, 12);
  EXPECT_EQ(version->etag, "\"0af\"");
  EXPECT_EQ(version->mtime_ns, 1'709'208'001'000'000'000);
  EXPECT_EQ(version->ctime_ns, version->mtime_ns);
  for (const std::string_view etag :
       {"", "0af", "W/&quot;0af&quot;", "&quot;&quot;", "&quot;0&quot;af&quot;",
        "&quot;0&#10;X: y&quot;", "&quot;0 af&quot;"}) {
    EXPECT_FALSE(object("12", etag, "2024-02-29T12:00:01Z")) << etag;
  }
  EXPECT_FALSE(object("12", "&quot;" + std::string(1000, 'a') + "&quot;", "2024-02-29T12:00:01Z"));
  for (const std::string_view size : {"", "x", "-1", "1x", "99999999999999999999"}) {
    EXPECT_FALSE(object(size, "&quot;0af&quot;", "2024-02-29T12:00:01Z")) << size;
  }
  for (const std::string_view time :
       {"", "yesterday", "2024-02-29T12:00", "1969-01-01T00:00:00Z"}) {
    EXPECT_FALSE(object("12", "&quot;0af&quot;", time)) << time;
  }
}

TEST(ListingPageTest, EmptyPageHasNothing) {
  const auto page = ParseListingPage(Page("<Prefix>a/</Prefix>"), "a");
  ASSERT_TRUE(page);
  EXPECT_FALSE(page->has_any);
}

TEST(ListingPageTest, WhatIsNotUnderstoodIsAnError) {
  for (const std::string& text :
       {std::string("no xml"), std::string("<html></html>"),
        Page("<Prefix>b/</Prefix><Contents><Key>b/x</Key></Contents>"),
        Page("<Prefix>a/</Prefix><Contents><Key>elsewhere</Key></Contents>"),
        Page("<Prefix>a/</Prefix><IsTruncated>true</IsTruncated>"),
        Page("<Prefix>a/</Prefix><IsTruncated>true</IsTruncated><NextContinuationToken>" +
             std::string(20'000, 't') + "</NextContinuationToken>")}) {
    EXPECT_FALSE(ParseListingPage(text, "a")) << text;
  }
}

}  // namespace
}  // namespace zarrfs::listing_page_test
