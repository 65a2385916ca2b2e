#include "zarrcore/icechunk/object_id.h"

#include <gtest/gtest.h>

#include <string>

namespace zarrfs::object_id_test {
namespace {

TEST(IcechunkIdTest, TheFirstSnapshotHasTheNameThatIcechunkGivesIt) {
  const std::string text = "1CECHNKREP0F1RSTCMT0";
  const auto id = ParseIcechunkId(text);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->front(), 0x0b);
  EXPECT_EQ(IcechunkIdText(*id), text);
}

TEST(IcechunkIdTest, ZeroBitsAreAppended) {
  IcechunkId id{};
  id.fill(0xff);
  EXPECT_EQ(IcechunkIdText(id), "ZZZZZZZZZZZZZZZZZZZG");
  const IcechunkNodeId node{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0};
  EXPECT_EQ(IcechunkIdText(node), "28T5CY4TQKFF0");
}

TEST(IcechunkIdTest, OtherTextsAreNone) {
  for (const char* text :
       {"", "1CECHNKREP0F1RSTCMT", "1CECHNKREP0F1RSTCMT00", "1cechnkrep0f1rstcmt0",
        "1CECHNKREPOF1RSTCMT0", "1CECHNKREP0F1RSTCMT1", "1CECHNKREP0F1RSTCM/0"}) {
    EXPECT_FALSE(ParseIcechunkId(text)) << text;
  }
}

}  // namespace
}  // namespace zarrfs::object_id_test
