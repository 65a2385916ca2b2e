#include "zarrcore/net/listing_page.h"

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
