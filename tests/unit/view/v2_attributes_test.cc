#include "zarrcore/view/v2_attributes.h"

#include <gtest/gtest.h>

namespace zarrfs {
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
  };
  for (const auto& [given, plain] : cases) {
    const Json attributes = PlainAttributes(Json{{"x", *ParseJson(given, "given")}});
    EXPECT_EQ(attributes["x"], *ParseJson(plain, "plain")) << given;
    EXPECT_EQ(attributes["x"].is_number_float(), ParseJson(plain, "plain")->is_number_float());
  }
}

}  // namespace
}  // namespace zarrfs
