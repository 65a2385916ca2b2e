#include <gtest/gtest.h>

#include "tools/zarrctl/page/html.h"

namespace zarrfs::ctl::page_html_test {
namespace {

TEST(EscapeHtml, LeavesNoMarkup) {
  EXPECT_EQ(EscapeHtml("<script>alert('a' & \"b\")</script>"),
            "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;");
}

TEST(EscapeHtml, ShowsControlCharactersAndLines) {
  EXPECT_EQ(EscapeHtml(std::string("a\0\n\x1b[31m\x7f", 9)), R"(a\x00\x0a\x1b[31m\x7f)");
  EXPECT_EQ(EscapeHtml("\u0085 \u2028"), R"(\x85 \u2028)");
}

TEST(EscapeHtml, EscapesCharactersThatChangeTheTextDirection) {
  EXPECT_EQ(EscapeHtml("gpj\u202eexe.\u2066\u200f"), R"(gpj\u202eexe.\u2066\u200f)");
  EXPECT_EQ(EscapeHtml("درجة °C λ 温度"), "درجة °C λ 温度");
}

TEST(EscapeHtml, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(EscapeHtml("a\xff\xc3(\xed\xa0\x80"), R"(a\xff\xc3(\xed\xa0\x80)");
  EXPECT_EQ(EscapeHtml("\xef\xbf\xbf"), R"(\uffff)");
}

TEST(Shortened, CutsBetweenCharacters) {
  EXPECT_EQ(Shortened("abc", 3), "abc");
  EXPECT_EQ(Shortened("aäb", 2), "a…");
  EXPECT_EQ(Shortened("aäb", 3), "aä…");
}

TEST(ShellWord, IsOneWordOfOneLine) {
  EXPECT_EQ(ShellWord("/data/ocean.zarr"), "/data/ocean.zarr");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("~root"), "'~root'");
  EXPECT_EQ(ShellWord("a b;rm -rf $HOME"), "'a b;rm -rf $HOME'");
  EXPECT_EQ(ShellWord("it's"), R"('it'\''s')");
  EXPECT_EQ(ShellWord("a\nrm '\\"), R"($'a\x0arm \'\\')");
  EXPECT_EQ(ShellWord("\u202e\xff"), R"($'\xe2\x80\xae\xff')");
}

TEST(PythonText, IsOneLiteralWithoutSingleQuotes) {
  EXPECT_EQ(PythonText("a\"\\ä"), R"("a\"\\ä")");
  EXPECT_EQ(PythonText("it's\n\xff"), R"("it\x27s\x0a\udcff")");
}

}  // namespace
}  // namespace zarrfs::ctl::page_html_test
