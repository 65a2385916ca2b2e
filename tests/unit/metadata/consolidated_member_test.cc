#include "zarrcore/metadata/consolidated_member.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "zarrcore/metadata/json.h"

namespace zarrfs {
namespace {

using Names = std::vector<std::string>;

std::string Erased(std::string text) {
  EraseConsolidated(text);
  return text;
}

TEST(EraseConsolidated, EmptiesTheObjectAndNothingElse) {
  EXPECT_EQ(Erased(R"({"a": {"consolidated_metadata": {"b": 1}}, "node_type": "group",
    "consolidated_metadata" : {"metadata": {"}\"{": [1, {"c": "\\"}]}}, "d": [NaN]} )"),
            R"({"a": {"consolidated_metadata": {"b": 1}}, "node_type": "group",
    "consolidated_metadata" : {}, "d": [NaN]} )");
}

TEST(EraseConsolidated, LeavesWhatParseJsonMustJudge) {
  for (std::string text : {
           R"({"consolidated_metadata": null})",
           R"({"consolidated_metadata": [{}]})",
           R"({"consolidated_metadata": {"a": 1}, "consolidated_metadata": null})",
           R"({"consolidated_metadata": {"a": 1}, "consolidated\u005fmetadata": null})",
           R"({"consolidated_metadata": {"a": 1}, "b": })",
           R"({"consolidated_metadata": {"a": 01}})",
           R"({"consolidated_metadata": {"a": 1})",
           R"({"consolidated_metadata": {"a": 1}} x)",
           R"([{"consolidated_metadata": {"a": 1}}])",
           R"({"consolidated_metadata": {"a": "half)",
           "",
       }) {
    if (text.starts_with('{')) text.replace(0, 1, R"({"node_type": "group", )");
    EXPECT_EQ(Erased(text), text);
  }
  const std::string array = R"({"node_type": "array", "consolidated_metadata": {"a": 1}})";
  EXPECT_EQ(Erased(array), array);
}

TEST(ConsolidatedNames, AreThoseThatParseJsonFinds) {
  const auto names = [](std::string_view text, std::string_view key = "g/zarr.json") {
    const auto found = ConsolidatedNames(text, key);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found ? found->value_or(Names{"none"}) : Names{"error"};
  };
  EXPECT_EQ(names(R"({"metadata": {"no": 1}, "consolidated_metadata":
                      {"kind": "inline", "metadata": {"b/c": {"d": {}}, "caf\u00e9 \"": {}}}})"),
            (Names{"b/c", "caf\xc3\xa9 \""}));
  EXPECT_EQ(names(R"({"metadata": {".zgroup": {}, "a/.zarray": {}}})", "g/.zmetadata"),
            (Names{".zgroup", "a/.zarray"}));
  EXPECT_EQ(names(R"({"consolidated_metadata": {"metadata": {}}})"), Names{});
  for (const std::string_view text :
       {R"({"consolidated_metadata": {"metadata": 1}})", R"({"consolidated_metadata": null})",
        R"({"consolidated_metadata": {"metadata": {"a": 1}}, "consolidated_metadata": {}})", "{}",
        "[]"}) {
    EXPECT_EQ(names(text), Names{"none"}) << text;
  }
  EXPECT_EQ(names(R"({"consolidated\u005fmetadata": {"metadata": {"a": 1}}})"), Names{"a"});
  const auto broken = ConsolidatedNames(R"({"consolidated_metadata": {"metadata": {"a": 1})", "k");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kDamaged);
}

}  // namespace
}  // namespace zarrfs
