// Documents that depend on a node's siblings.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/hierarchy/shared_documents.h"
#include "zarrcore/store/gated_store.h"

namespace zarrfs::hierarchy_dimensions_test {
namespace {

using Names = std::vector<std::string>;

constexpr Age kNow{0};
constexpr std::string_view kGroup = R"({"zarr_format": 3, "node_type": "group"})";
const size_t kNetcdf = *ViewNumber("netcdf");

std::string OneDimension(uint64_t length, std::string_view name) {
  return ArrayText(fmt::format("[{}]", length), "[2]", kBytesCodec,
                   fmt::format(R"({{"dimension_names": ["{}"]}})", name));
}

class HierarchyDimensions : public testing::Test {
 protected:
  void SetUp() override {
    store_->Put("zarr.json", kGroup);
    store_->Put("a/zarr.json", OneDimension(4, "x"));
    store_->Put("b/zarr.json", OneDimension(2, "x"));
  }

  const Hierarchy& hierarchy() { return made().hierarchy; }
  const SharedDocuments& shared() { return made().shared; }
  MadeDocument Document(const std::string& path) {
    const auto node = hierarchy().Get(path, kAnyAge);
    EXPECT_TRUE(node);
    auto document = shared().Get(*node, kNetcdf, kNow);
    EXPECT_TRUE(document) << (document ? "" : document.error().message);
    return document ? document->value : MadeDocument{};
  }
  std::string NameIn(const std::string& path) {
    const MadeDocument document = Document(path);
    const auto text = shared().Text(*hierarchy().Get(path, kAnyAge), kNetcdf, document.text_number);
    EXPECT_TRUE(text);
    if (!text) return "";
    EXPECT_EQ((*text)->size(), document.size);
    return (*ParseJson(**text, ".zattrs"))["_ARRAY_DIMENSIONS"][0].get<std::string>();
  }

  std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  HierarchyOptions options_;
  struct Made {
    Hierarchy hierarchy;
    MadeTexts texts = {};
    SharedDocuments shared{hierarchy, texts};
  };
  std::unique_ptr<Made> made_;

 private:
  Made& made() {
    if (!made_) made_.reset(new Made{Hierarchy(Gate(store_), options_, [](const Error&) {})});
    return *made_;
  }
};

TEST_F(HierarchyDimensions, OnlyAttributesOfNodesInTheRootGroupDependOnSiblings) {
  const size_t v2 = *ViewNumber("v2");
  EXPECT_TRUE(SharedDocuments::DependsOnSiblings("a", kNetcdf, kSharedDocument));
  EXPECT_FALSE(SharedDocuments::DependsOnSiblings("a", kNetcdf, 0));
  EXPECT_FALSE(SharedDocuments::DependsOnSiblings("a", v2, kSharedDocument));
  EXPECT_FALSE(SharedDocuments::DependsOnSiblings("", kNetcdf, kSharedDocument));
  EXPECT_FALSE(SharedDocuments::DependsOnSiblings("g/a", kNetcdf, kSharedDocument));
  EXPECT_TRUE(SharedDocuments::DependsOnSiblings("g/a", *ViewNumber("gdal"), kSharedDocument));
}

TEST_F(HierarchyDimensions, AttributesThatFewerPeopleMayReadAreNotRepeated) {
  store_->Put("crs/zarr.json",
              ArrayText("[1]", "[1]", kBytesCodec, R"({"attributes": {"crs_wkt": "GEOGCS[]"}})"));
  store_->Put("raster/zarr.json", ArrayText("[1, 1]", "[1, 1]", kBytesCodec,
                                            R"({"attributes": {"grid_mapping": "crs"}})"));
  for (const bool is_for_others : {false, true}) {
    options_.is_for_others = is_for_others;
    for (const uint32_t mode : {0644U, 0600U}) {
      made_.reset();
      store_->SetOwner("raster/zarr.json", 0644, 0, 0);
      store_->SetOwner("crs/zarr.json", mode, 0, 0);
      const auto node = hierarchy().Get("raster", kNow);
      ASSERT_TRUE(node);
      MadeTexts::Text text;
      ASSERT_TRUE(shared().Get(*node, *ViewNumber("gdal"), kNow, &text));
      EXPECT_EQ(Contains(*text, "_CRS"), !is_for_others || mode == 0644) << mode;
    }
  }
}

TEST_F(HierarchyDimensions, ADocumentIsTheSameUntilItsNamesChange) {
  EXPECT_EQ(NameIn("a"), "x_4");
  EXPECT_EQ(NameIn("b"), "x");
  const MadeDocument a = Document("a");
  const MadeDocument b = Document("b");
  EXPECT_EQ(Document("a"), a);

  store_->Put("c/zarr.json", OneDimension(3, "y"));
  EXPECT_EQ(Document("a").text_number, a.text_number) << "this sibling makes no difference";

  store_->Put("x/zarr.json", OneDimension(4, "x"));
  EXPECT_EQ(NameIn("a"), "x");
  EXPECT_EQ(NameIn("b"), "x_2");
  EXPECT_NE(Document("b").text_number, b.text_number);
  EXPECT_GT(Document("b").version.ctime_ns, b.version.ctime_ns) << "copies see that it is newer";
  EXPECT_TRUE(shared().Text(*hierarchy().Get("b", kAnyAge), kNetcdf, b.text_number))
      << "for who has it open";

  store_->Remove("x");
  EXPECT_EQ(NameIn("b"), "x");
  store_->Remove("b");
  EXPECT_EQ(NameIn("a"), "x") << "it has no siblings of this name";
}

TEST_F(HierarchyDimensions, AnArrayThatIsNewerThanWhatIsKnownOfItsSiblingsIsLookedAtAgain) {
  EXPECT_EQ(NameIn("b"), "x");
  store_->Put("b/zarr.json", OneDimension(5, "x"));
  const auto node = hierarchy().Get("b", kNow);
  ASSERT_TRUE(node);
  const auto document = shared().Get(*node, kNetcdf, kAnyAge);
  ASSERT_TRUE(document);
  const auto text = shared().Text(*node, kNetcdf, document->value.text_number);
  ASSERT_TRUE(text);
  EXPECT_TRUE(Contains(**text, "\"x_5\""));
}

TEST_F(HierarchyDimensions, WhereASiblingCannotBeReadAllNamesCarryTheirLengths) {
  store_->FailAllWith("a", {ErrorCode::kIo, "pulled"});
  EXPECT_EQ(NameIn("b"), "x_2");
  store_->ClearFaults();
  EXPECT_EQ(NameIn("b"), "x");
}

TEST_F(HierarchyDimensions, ASiblingThatMayNotBeReadHasNoSay) {
  store_->FailAllWith("a", {ErrorCode::kPermissionDenied, "no"});
  EXPECT_EQ(NameIn("b"), "x");
}

TEST_F(HierarchyDimensions, AboveTheLimitAllNamesCarryTheirLengths) {
  options_.consolidated_max = 1;
  EXPECT_EQ(NameIn("b"), "x_2");
}

TEST_F(HierarchyDimensions, WithoutConsolidatedDocumentsNamesArePlainAllTheSame) {
  options_.consolidated_max = 0;
  EXPECT_EQ(NameIn("b"), "x");
}

TEST_F(HierarchyDimensions, InOmeGroupsAllNamesCarryTheirLengths) {
  store_->Put(
      "zarr.json",
      R"({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5"}}})");
  EXPECT_EQ(NameIn("b"), "x_2");
}

TEST_F(HierarchyDimensions, OtherGroupsAreLookedIntoForANameLikeTheirs) {
  store_->Put("c/zarr.json", OneDimension(7, "y_3"));
  store_->Put("g/zarr.json", kGroup);
  store_->Put("g/h/zarr.json", kGroup);
  store_->Put("g/h/d/zarr.json", OneDimension(4, "y"));
  EXPECT_EQ(NameIn("c"), "y_3");
  store_->Put("g/h/d/zarr.json", OneDimension(3, "y"));
  EXPECT_EQ(NameIn("c"), "y_3_7");
}

TEST_F(HierarchyDimensions, AGroupThatIsTooLargeToBeLookedIntoMayHaveTheName) {
  options_.consolidated_max = 4;
  store_->Put("c/zarr.json", OneDimension(7, "y_3"));
  store_->Put("g/zarr.json", kGroup);
  for (const char* name : {"1", "2", "3", "4", "5"}) {
    store_->Put(fmt::format("g/{}/zarr.json", name), OneDimension(4, "y"));
  }
  EXPECT_EQ(NameIn("c"), "y_3_7");
  EXPECT_EQ(NameIn("b"), "x");
}

TEST_F(HierarchyDimensions, AThreadThatMayNotWaitIsAnsweredAtOnce) {
  store_->SetAnswersFast(false);
  const auto node = hierarchy().Get("a", kNow);
  ASSERT_TRUE(node);
  for (const FakeStore::Call call : FakeStore::kAllCalls) store_->Block(call, "");
  {
    const NoWaiting no_waiting;
    const auto document = shared().Get(*node, kNetcdf, kNow);
    ASSERT_FALSE(document);
    EXPECT_EQ(document.error().code, ErrorCode::kWouldBlock);
  }
  store_->ClearFaults();
  EXPECT_EQ(NameIn("a"), "x_4");
}

}  // namespace
}  // namespace zarrfs::hierarchy_dimensions_test
