#include "zarrcore/view/v2_attributes.h"

#include <gtest/gtest.h>

namespace zarrfs::v2_attributes_test {
namespace {

TEST(PlainAttributes, WhatIsNoNumberTextObjectOrListOfNumbersBecomesText) {
  const struct {
    std::string_view given, plain;
  } cases[] = {
      {"1", "1"},
      {"\"text\"", "\"text\""},
      {"true", "true"},
      {"NaN", "NaN"},
      {R"({"a": [null]})", R"({"a": [null]})"},
      {"[1, 2]", "[1, 2]"},
      {"[1, 2.5]", "[1.0, 2.5]"},
      {"[1, NaN]", "[1.0, NaN]"},
      {"null", "\"null\""},
      {"[]", "\"[]\""},
      {R"(["a"])", R"("[  \"a\"]")"},
      {"[1, true]", "\"[  1,  true]\""},
      {"[0, 127]", "[0, 127]"},
      {"[300, 1]", "[300, 1]"},
      {"[1, 300]", "[1.0, 300.0]"},
      {"[200, -1]", "[200.0, -1.0]"},
      {"[70000, -1]", "[70000, -1]"},
      {"[1, 9007199254740993]", "\"[  1,  9007199254740993]\""},
      {"[18446744073709551615, 1]", "[18446744073709551615, 1]"},
      {"18446744073709551616", "1.8446744073709552e+19"},
      {"[1, 18446744073709551616]", "\"[  1,  18446744073709551616]\""},
  };
  for (const auto& [given, plain] : cases) {
    const Json attributes = PlainAttributes(Json{{"x", *ParseJson(given, "given")}});
    EXPECT_EQ(attributes["x"], *ParseJson(plain, "plain")) << given;
    EXPECT_EQ(attributes["x"].is_number_float(), ParseJson(plain, "plain")->is_number_float());
  }
}

TEST(PlainName, HasNothingThatNetcdfStumblesOver) {
  EXPECT_EQ(PlainName("a/b\tc"), "a_b_c");
  EXPECT_EQ(PlainName(" a "), "_a ");
  EXPECT_EQ(PlainName("ü"), "ü");
  EXPECT_EQ(PlainName(std::string(300, 'x')).size(), kMaxPlainName);
  EXPECT_EQ(PlainName(std::string(199, 'x') + "ü").size(), 199U) << "no half of a character";
  EXPECT_EQ(PlainAttributes(Json{{"", 1}, {"a/b", 2}}), (Json{{"a_b", 2}}));
}

}  // namespace
}  // namespace zarrfs::v2_attributes_test
