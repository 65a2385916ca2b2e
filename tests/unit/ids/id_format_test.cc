#include "fs/ids/id_format.h"

#include <gtest/gtest.h>

#include <utility>

#include "fs/ids/node_table.h"
#include "zarrcore/view/view.h"

namespace zarrfs::id_format_test {
namespace {

constexpr uint64_t kBlock = NodeRecord::kBlock;

TEST(IdFormatTest, NamesEachViewWithItsDocuments) {
  const auto views = IdsOfViews();
  ASSERT_EQ(views.size(), AllViews().size());
  using Names = std::vector<std::string>;
  EXPECT_EQ(views[0].name, "v2");
  EXPECT_EQ(views[0].documents, (Names{"group: 2", ".zgroup", ".zattrs", ".zmetadata", "array: 2",
                                       ".zarray", ".zattrs", "texts: 2", ".zarray", ".zattrs"}));
  EXPECT_EQ(views[1].name, "v3");
  EXPECT_EQ(views[1].documents, (Names{"group: 1", "zarr.json", "zarr.json", "array: 1",
                                       "zarr.json", "texts: 1", "zarr.json"}));
  EXPECT_EQ(views[2].name, "gdal");
  EXPECT_EQ(views[2].documents, (Names{"group: 2", ".zgroup", ".zattrs", "", "array: 2", ".zarray",
                                       ".zattrs", "texts: 4", "", ".zattrs", ".zarray", "0"}));
  EXPECT_EQ(IdFormat(), IdFormatOf(kBlock, views));
}

TEST(IdFormatTest, DiffersWithEverythingThatIdsAreComputedFrom) {
  auto views = IdsOfViews();
  EXPECT_NE(IdFormatOf(kBlock + 1, views), IdFormat()) << "another number of positions";
  std::swap(views[0], views[1]);
  EXPECT_NE(IdFormatOf(kBlock, views), IdFormat()) << "views in another order";
  views = IdsOfViews();
  std::swap(views[0].documents[1], views[0].documents[2]);
  EXPECT_NE(IdFormatOf(kBlock, views), IdFormat()) << "documents in another order";
  views = IdsOfViews();
  views[0].documents.emplace_back(".zmore");
  EXPECT_NE(IdFormatOf(kBlock, views), IdFormat()) << "one more document";
  views = IdsOfViews();
  views[5].name = "hdf";
  EXPECT_NE(IdFormatOf(kBlock, views), IdFormat()) << "another view in the place of one";
  views = IdsOfViews();
  views.pop_back();
  EXPECT_NE(IdFormatOf(kBlock, views), IdFormat()) << "one view less";
}

}  // namespace
}  // namespace zarrfs::id_format_test
