#include "fs/daemon/config_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zarrfs {
namespace {

std::vector<std::string> WordsOf(std::string_view text) {
  const auto settings = ParseConfig(text, "f");
  EXPECT_TRUE(settings) << settings.error().message;
  std::vector<std::string> words;
  if (settings) {
    for (const Setting& setting : *settings) words.push_back(setting.Word());
  }
  return words;
}

std::string ErrorOf(std::string_view text) {
  const auto settings = ParseConfig(text, "f");
  return settings ? "" : settings.error().message;
}

TEST(ConfigFileTest, ALineIsANameWithOrWithoutAValue) {
  EXPECT_EQ(WordsOf("# comment\n\n  cache =  1G\r\nimmutable\n\t# too\nsource=/a b,c=#d"),
            (std::vector<std::string>{"cache=1G", "immutable", "source=/a b,c=#d"}));
  EXPECT_TRUE(WordsOf("").empty());
}

TEST(ConfigFileTest, WhatIsNeitherIsNamedWithItsLine) {
  EXPECT_EQ(ErrorOf("ro\n\nmuch ado\n"),
            "f:3: 'much ado': expected 'name = value' or a name alone, one a line");
  EXPECT_EQ(ErrorOf("= 1"), "f:1: '= 1': expected 'name = value' or a name alone, one a line");
  EXPECT_EQ(ErrorOf("ro,cache=1"),
            "f:1: 'ro,cache=1': expected 'name = value' or a name alone, one a line");
  EXPECT_EQ(ErrorOf("cache ="), "f:1: 'cache =': expected a value after '='");
  EXPECT_EQ(ErrorOf("cache=1\ncache=2"),
            "f:2: 'cache=2': expected each name once, and line 1 has it");
}

TEST(ConfigFileTest, ChangedNamesAreThoseThatCameWentOrHaveAnotherValue) {
  const auto before = ParseConfig("a=1\nb\nc=1\nd", "f");
  const auto after = ParseConfig("d\nc=2\nb=1\ne", "f");
  EXPECT_EQ(ChangedNames(*before, *after), (std::vector<std::string>{"a", "b", "c", "e"}));
}

}  // namespace
}  // namespace zarrfs
