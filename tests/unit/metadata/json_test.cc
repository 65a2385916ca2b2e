#include "zarrcore/metadata/json.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tests/unit/support/memory.h"

namespace zarrfs::json_test {
namespace {

using std::string_literals::operator""s;

Json Parsed(std::string_view text) {
  auto json = ParseJson(text, "a/zarr.json");
  EXPECT_TRUE(json) << (json ? "" : json.error().message);
  return json ? *json : Json();
}

Error Refused(std::string_view text) {
  const auto json = ParseJson(text, "a/zarr.json");
  EXPECT_FALSE(json) << text.substr(0, 80);
  return json ? Error{ErrorCode::kNotFound, ""} : json.error();
}

std::string OnOneLine(std::string text) {
  std::erase(text, '\n');
  std::erase(text, ' ');
  return text;
}

// The memory that the allocator may keep after it was freed, in bytes.
#ifdef ZARRFS_SANITIZED
constexpr size_t kSlack = 1 << 30;  // sanitizers delay the reuse of freed memory
#else
constexpr size_t kSlack = 4 << 20;
#endif

TEST(Json, OrderOfKeysSurvives) {
  EXPECT_EQ(DumpJson(Parsed(R"({"z":1,"a":{"y":2,"b":3}})")),
            "{\n  \"z\": 1,\n  \"a\": {\n    \"y\": 2,\n    \"b\": 3\n  }\n}\n");
}

TEST(Json, BareNanAndInfinityRoundTrip) {
  const std::string text = R"({"a":NaN,"b":[Infinity,-Infinity,"NaN","\"NaN"]})";
  EXPECT_EQ(OnOneLine(DumpJson(Parsed(text))), text);
}

TEST(Json, BareNanIsNotTheStringNan) {
  const Json list = Parsed(R"([NaN, "NaN", -Infinity, Infinity, 1])");
  EXPECT_TRUE(std::isnan(*NonFinite(list[0])));
  EXPECT_EQ(NonFinite(list[1]), std::nullopt);
  EXPECT_EQ(NonFinite(list[2]), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(NonFinite(list[3]), std::numeric_limits<double>::infinity());
  EXPECT_EQ(NonFinite(list[4]), std::nullopt);
}

TEST(Json, NanInsideStringsAndNamesIsText) {
  const std::string text = R"({"NaN":"a\"NaN\\","x\\":"Infinity"})";
  EXPECT_EQ(OnOneLine(DumpJson(Parsed(text))), text);
}

TEST(Json, NanNextToOtherTextIsRefused) {
  for (const char* text : {"1NaN", "NaNs", "\"a\"NaN", "[NaN NaN]", "-NaN", "+Infinity", "{NaN:1}",
                           "NaN1", "Infinit", "- Infinity", "NaN,"}) {
    EXPECT_EQ(Refused(text).code, ErrorCode::kDamaged) << text;
  }
}

TEST(Json, StringThatLooksLikeMarkedNanIsRefused) {
  EXPECT_EQ(Refused(R"(["\u0000#NaN"])").code, ErrorCode::kDamaged);
  EXPECT_EQ(Refused(R"([NaN, "\u0000\u0023NaN"])").code, ErrorCode::kDamaged);
  EXPECT_EQ(Refused(R"({"\u0000#NaN": 1})").code, ErrorCode::kDamaged);
}

TEST(Json, MarkInTheMiddleOfAStringIsText) {
  const std::string text = R"(["\"\u0000#NaN","a\u0000#NaN","\u0000"])";
  EXPECT_EQ(OnOneLine(DumpJson(Parsed(text))), text);
}

TEST(Json, NegativeZeroKeepsItsSign) { EXPECT_EQ(DumpJson(Parsed("-0.0")), "-0.0\n"); }

TEST(Json, LargestIntegersAreExact) {
  EXPECT_EQ(DumpJson(Parsed("18446744073709551615")), "18446744073709551615\n");
  EXPECT_EQ(DumpJson(Parsed("-9223372036854775808")), "-9223372036854775808\n");
}

TEST(Json, LargerIntegersKeepTheirDigits) {
  const std::string text =
      "[18446744073709551616,-9223372036854775809,123456789012345678901234567890]";
  const Json list = Parsed(text);
  EXPECT_EQ(OnOneLine(DumpJson(list)), text);
  EXPECT_EQ(NonFinite(list[0]), 18446744073709551616.0) << "the nearest double";
  EXPECT_FALSE(list[0].is_number());
  EXPECT_EQ(Excerpt(list[1]), "-9223372036854775809");
  EXPECT_EQ(OnOneLine(DumpJson(Parsed(R"(["18446744073709551616"])"))),
            R"(["18446744073709551616"])");
}

Json Repaired(std::string_view text, std::vector<std::string>& notes) {
  auto json = ParseJson(text, "k", notes);
  EXPECT_TRUE(json) << (json ? "" : json.error().message);
  return json ? *json : Json();
}

TEST(Json, WhatIsBrokenIsReplacedWhereTheCallerAsksForNotes) {
  const struct {
    std::string text, repaired, note;
  } cases[] = {
      {R"(["\ud83d"])", R"(["\ufffd"])", "half a surrogate pair is read as U+FFFD"},
      {R"(["\ud83d\ud83d\ude00 \ude00"])", R"(["\ufffd\ud83d\ude00\ufffd"])",
       "half a surrogate pair is read as U+FFFD"},
      {R"(["a\\ud83d",1e999])", R"(["a\\ud83d",Infinity])", "1e999 is read as Infinity"},
      {R"({"\udc00":-2.5E+400})", R"({"\ufffd":-Infinity})", "-2.5E+400 is read as -Infinity"},
      {"[\"\xff\xc3\xa9\xed\xa0\x80\"]", R"(["\ufffd\u00e9\ufffd\ufffd\ufffd"])",
       "bytes that are not UTF-8 are read as U+FFFD"},
      {R"(["\u0000#NaN",NaN])", R"(["\ufffd#NaN",NaN])",
       "\\u0000# at the beginning of a string is read as U+FFFD #"},
      {"[" + std::string(400, '7') + "]", "[Infinity]",
       std::string(100, '7') + "... is read as Infinity"},
  };
  for (const auto& [text, repaired, note] : cases) {
    std::vector<std::string> notes;
    EXPECT_EQ(OnOneLine(DumpJson(Repaired(text, notes))), repaired) << text;
    EXPECT_TRUE(std::ranges::find(notes, "k: " + note) != notes.end())
        << fmt::format("{}", fmt::join(notes, "; "));
    EXPECT_FALSE(ParseJson(text, "k")) << "not everywhere: " << text;
  }
}

TEST(Json, WhatIsSoundOrBeyondRepairHasNoNotes) {
  std::vector<std::string> notes;
  EXPECT_EQ(Repaired(R"(["\ud83d\ude00", 1e308, 1e-999, NaN])", notes).size(), 4U);
  for (const char* text : {"", "{", R"({"a": "\ud83d")", "[1e999", R"(["\ud83d"] x)", "[\"\xff"}) {
    EXPECT_FALSE(ParseJson(text, "k", notes)) << text;
  }
  EXPECT_TRUE(notes.empty());
}

TEST(Json, WhatIsTooDeepIsLeftOut) {
  std::vector<std::string> notes;
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  const Json json = Repaired(R"({"a": )" + nested(1000) + R"(, "b": {"c": NaN}, "d": [)" +
                                 nested(kMaxJsonDepth - 1) + ", 3]}",
                             notes);
  EXPECT_EQ(OnOneLine(DumpJson(json["b"])), R"({"c":NaN})");
  EXPECT_EQ(json["d"][1], 3);
  const Json* deepest = &json["a"];
  for (int depth = 1; depth < kMaxJsonDepth; ++depth) deepest = &(*deepest)[0];
  EXPECT_TRUE(deepest->is_null());
  EXPECT_EQ(notes,
            std::vector<std::string>{"k: values nested deeper than 256 levels are left out"});
}

TEST(Json, DumpIsAscii) {
  EXPECT_EQ(DumpJson(Parsed("\"\xc3\xa9\xf0\x9f\x98\x80\"")), "\"\\u00e9\\ud83d\\ude00\"\n");
}

TEST(Json, ByteOrderMarkIsSkipped) { EXPECT_EQ(Parsed("\xef\xbb\xbf[1]"), Json::array({1})); }

TEST(Json, LastOfEqualKeysCounts) {
  EXPECT_EQ(OnOneLine(DumpJson(Parsed(R"({"a":1,"b":2,"a":3})"))), R"({"a":3,"b":2})");
}

TEST(Json, ErrorSaysKeyLineAndColumn) {
  const Error error = Refused("{\n  \"a\": [NaN, NaN 2]}");
  EXPECT_EQ(error.code, ErrorCode::kDamaged);
  EXPECT_TRUE(error.message.starts_with("a/zarr.json: not JSON at line 2, column 18: "))
      << error.message;
}

TEST(Json, TextsThatAreNotJsonAreRefused) {
  for (const std::string& text :
       {""s,        " "s,        "{"s,        "{} x"s,    "{}{}"s,  "[1,]"s,
        "{\"a\"}"s, "nul"s,      "'a'"s,      "// c\n1"s, "01"s,    "\"\\ud800\""s,
        "\"\n\""s,  "\"\xff\""s, "\"\xc3\""s, "\xff"s,    "1e999"s, "-1e999"s,
        "{}\0"s,    "\0{}"s,     "\"\0\""s,   "\"a"s,     "\"\\"s,  "\"NaN\\"s}) {
    EXPECT_EQ(Refused(text).code, ErrorCode::kDamaged) << text;
  }
}

TEST(Json, DeepNestingIsRefused) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_TRUE(ParseJson(nested(kMaxJsonDepth), "k"));
  EXPECT_EQ(Refused(nested(kMaxJsonDepth + 1)).code, ErrorCode::kTooLarge);
  EXPECT_EQ(Refused(nested(100000)).code, ErrorCode::kTooLarge);
  EXPECT_EQ(Refused(std::string(1 << 20, '[')).code, ErrorCode::kTooLarge);
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(Refused(objects).code, ErrorCode::kTooLarge);
}

TEST(Json, ValuesHaveACap) {
  std::string text = "[";
  text.reserve(2 * kMaxJsonValues + 8);
  for (size_t i = 0; i < kMaxJsonValues; ++i) text += "0,";
  text += "0]";
  std::vector<std::string> notes;
  const auto json = ParseJson(text, "a/zarr.json", notes);
  ASSERT_FALSE(json) << "not where a caller asks for notes either";
  EXPECT_EQ(json.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(json.error().message, "a/zarr.json: JSON has more than 8388608 values");
}

TEST(Json, ManyDeepValuesAreNotIndented) {
  const std::string open(200, '[');
  std::string zeros = "0";
  for (int i = 0; i < 100'000; ++i) zeros += ",0";
  const std::string text = open + zeros + std::string(200, ']');
  EXPECT_EQ(DumpJson(Parsed(text)), text + "\n") << "40 MB of spaces";
}

TEST(Json, MemoryIsThatOfAllValues) {
  for (const std::string value : {"0", "\"\"", "\"a text that has memory of its own\"", "{}", "[0]",
                                  "{\"a name that has memory of its own\":0}"}) {
    std::string text = "[" + value;
    for (int i = 0; i < 100'000; ++i) text += "," + value;
    text += "]";
    const size_t before = LiveBytes();
    const Json json = Parsed(text);
    const size_t taken = LiveBytes() - before;
    if (taken == 0) GTEST_SKIP() << "not known here";
    EXPECT_GT(MemoryOf(json), taken / 10 * 8) << value;
    EXPECT_LT(MemoryOf(json), taken * 2) << value;
  }
}

TEST(Json, ParsingAndDumpingTakeNoMoreMemoryThanIsSaid) {
  constexpr size_t kValues = 150'000;
  const auto list_of = [](std::string_view value) {
    std::string text = "[0";
    for (size_t i = 0; i < kValues; ++i) text.append(",").append(value);
    return text + "]";
  };
  std::string object = "{";
  for (size_t i = 0; i < kValues; ++i) object += fmt::format("{}\"{:x}\":0", i == 0 ? "" : ",", i);
  for (const std::string& text :
       {list_of("1"), list_of("[]"), list_of("{}"), list_of("0.1"), list_of("\"a\""),
        list_of("NaN"), list_of(R"({"a":1})"), list_of("[[[1]]]"), object + "}",
        "\"" + std::string(8 << 20, 'x') + "\"", list_of("\"é\x7f\\n\"")}) {
    Json json;
    const auto parsing = PeakBytesOf([&] { json = Parsed(text); });
    EXPECT_LT(parsing.value_or(0), MemoryToParse(text) + kSlack) << text.substr(0, 20);
    EXPECT_LT(2 * MemoryOf(json), MemoryToParse(text)) << text.substr(0, 20);
    const auto dumping = PeakBytesOf([&] { EXPECT_GT(DumpJson(json).size(), 0U); });
    EXPECT_LT(dumping.value_or(0), MemoryToDump(json) + kSlack) << text.substr(0, 20);
  }
}

TEST(Json, ObjectOfManyKeysTakesNoQuadraticTime) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += fmt::format("\"{}\":0,", i);
  EXPECT_EQ(Parsed(text + "\"last\":1}").size(), 200001U);
}

TEST(Json, OfEqualKeysTheLastValueStandsAtThePlaceOfTheFirst) {
  EXPECT_EQ(Parsed(R"({"b": 1, "a": 2, "b": {"b": 3, "b": 4}, "c": 5, "a": 6, "b": 7})").dump(),
            R"({"b":7,"a":6,"c":5})");
}

TEST(Json, MessagesStayShortAndPrintable) {
  const std::string message = Refused("[\"" + std::string(1 << 20, 'x') + "\x01\xff\"").message;
  EXPECT_LT(message.size(), 200U);
  for (const char c : message) EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_LT(Excerpt(Json(std::string(1 << 20, 'x'))).size(), 110U);
  EXPECT_EQ(Excerpt(Json(std::string("\xff\n"))), "\"\\ufffd\\n\"");
  EXPECT_EQ(Excerpt(Json(std::vector<int>(1000))), "a list of 1000 entries");
  EXPECT_EQ(Excerpt(Parsed("-Infinity")), "-Infinity");
}

}  // namespace
}  // namespace zarrfs::json_test
