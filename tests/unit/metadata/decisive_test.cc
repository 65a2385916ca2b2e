#include "zarrcore/metadata/decisive.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "zarrcore/metadata/json.h"

namespace zarrfs {
namespace {

std::string Array(std::string_view attributes, std::string_view data_type = "int8") {
  return fmt::format(
      R"({{"zarr_format": 3, "node_type": "array", "data_type": "{}", "attributes": {}}})",
      data_type, attributes);
}

TEST(DecisiveDigest, DependsOnNoAttributeThatDecidesNothing) {
  const auto digest = DecisiveDigest(Array(R"({"units": "K"})"));
  ASSERT_TRUE(digest);
  EXPECT_EQ(DecisiveDigest(Array(R"({"units": "°C \u00b0 \"\\"})")), digest);
  EXPECT_EQ(DecisiveDigest(Array(R"({"units": [1, -0.5e-7, null, {"a": [NaN, -Infinity]}]})")),
            digest);
}

TEST(DecisiveDigest, DependsOnAllThatDecides) {
  const std::vector<std::string> texts = {
      Array("{}"),
      Array("{}", "int16"),
      Array(R"({"_FillValue": 0})"),
      Array(R"({"_FillValue": 1})"),
      Array(R"({"missing_value": 0})"),
      Array(R"({"units": "K"})"),
      Array("{}") + " ",
  };
  for (size_t a = 0; a < texts.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const bool are_equal = DecisiveDigest(texts[a]) == DecisiveDigest(texts[b]);
      EXPECT_EQ(are_equal, a == 6 && b == 0) << texts[a] << texts[b];
    }
  }
}

TEST(DecisiveDigest, DependsOnEveryAttributeOfAGroup) {
  const auto group = [](std::string_view attributes) {
    return fmt::format(R"({{"zarr_format": 3, "node_type": "group", "attributes": {}}})",
                       attributes);
  };
  EXPECT_TRUE(DecisiveDigest(group("{}")));
  EXPECT_NE(DecisiveDigest(group(R"({"ome": 1})")), DecisiveDigest(group(R"({"ome": 2})")));
  // If a name is repeated, the last member counts.
  const std::string two = R"({"node_type": "array", "attributes": {"a": 1}, "node_type": "group"})";
  std::string other = two;
  other[other.find('1')] = '2';
  EXPECT_NE(DecisiveDigest(two), DecisiveDigest(other));
}

TEST(DecisiveDigest, IsNoneOfWhatParsersRefuseRepairOrReadInAnotherWay) {
  std::string deep = "1";
  for (int i = 0; i < 100; ++i) deep = "[" + deep + "]";
  for (const std::string& value : std::vector<std::string>{"",
                                                           "tru",
                                                           "+1",
                                                           "01",
                                                           "1.",
                                                           ".5",
                                                           "1e",
                                                           "1e400",
                                                           "1E+999",
                                                           "0x1",
                                                           "'a'",
                                                           "\"a",
                                                           "\"\x01\"",
                                                           "\"\\x\"",
                                                           "\"\\ud800\"",
                                                           "\"\\u12\"",
                                                           "\"\\u0000#NaN\"",
                                                           "\"\xff\"",
                                                           "\"\xc0\x80\"",
                                                           "\"\xed\xa0\x80\"",
                                                           "\"\xf5\x80\x80\x80\"",
                                                           "\"\xe2\x82\"",
                                                           "[1,]",
                                                           "[1 2]",
                                                           "{\"a\"}",
                                                           "{\"a\": 1,}",
                                                           "{a: 1}",
                                                           "1NaN",
                                                           "NaNs",
                                                           deep,
                                                           std::string(60, '1'),
                                                           std::string(1, '\0')}) {
    EXPECT_FALSE(DecisiveDigest(Array("{\"a\": " + value + "}"))) << value;
  }
  EXPECT_FALSE(DecisiveDigest(Array("[]"))) << "attributes that are left out";
  EXPECT_FALSE(DecisiveDigest(Array(R"({"_Fill\u0056alue": 1})"))) << "an escaped name";
  EXPECT_FALSE(DecisiveDigest(Array("{}") + "x"));
  EXPECT_FALSE(DecisiveDigest("\xef\xbb\xbf" + Array("{}")));
  EXPECT_FALSE(DecisiveDigest(Array("{\"a\": \"" + std::string(kMaxDecisiveText, 'a') + "\"}")));
}

// The parser accepts every text that has a digest, without changes.
TEST(DecisiveDigest, IsOnlyOfTextsThatAreParsedUnchanged) {
  const std::string text =
      Array(R"({"a": ["é", "\u00e9\n", -1.5e-3, true, NaN], "b": {"c": null}, "_FillValue": 0})");
  size_t accepted = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char c : std::string("\"\\{}[],:0e-N\xc3\xa9 \x1f")) {
      std::string changed = text;
      changed[at] = c;
      if (!DecisiveDigest(changed)) continue;
      ++accepted;
      std::vector<std::string> notes;
      EXPECT_TRUE(ParseJson(changed, "", notes)) << changed;
      EXPECT_TRUE(notes.empty()) << changed;
    }
  }
  EXPECT_GT(accepted, 100U);
}

}  // namespace
}  // namespace zarrfs
