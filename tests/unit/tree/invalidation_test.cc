#include "fs/tree/invalidation.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "fs/tree/tree.h"
#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs::invalidation_test {
namespace {

// A kernel that knows everything.
class Kernel final : public EntryInvalidator {
 public:
  bool InvalidateFolder(NodeId) override { return true; }
  void DropEntry(NodeId, const std::string& name) override { dropped.insert(name); }
  void CheckEntry(NodeId, const std::string& name) override { checked.insert(name); }

  std::set<std::string> dropped;
  std::set<std::string> checked;
};

class InvalidationTest : public testing::Test {
 protected:
  InvalidationTest() {
    store_->Put("zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": {}})");
    store_->Put("a/zarr.json", ArrayText("[4, 2]", "[1, 1]", R"({"name": "bytes"})", "{}"));
    tree_ = *Tree::Open(store_, {});
    for (const std::string view : {"v2", "v3"}) {
      const auto folder = tree_->LookUp(kRootId, view);
      EXPECT_NE(tree_->LookUp(folder->id, "a")->id, 0U);
    }
  }

  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  std::unique_ptr<Tree> tree_;
};

TEST_F(InvalidationTest, NamesInAFolderThatIsNoLongerWatchedAreCheckedAndKeepTheirPages) {
  Kernel kernel;
  Changes changes;
  changes.unwatched = {"a/c/2", "elsewhere/c/0"};
  EXPECT_TRUE(tree_->FindInvalidEntries(changes, kernel));
  EXPECT_EQ(kernel.dropped, std::set<std::string>());
  for (const std::string name : {"2.0", "2.1", "c", "2", "0", "1"}) {
    EXPECT_TRUE(kernel.checked.contains(name)) << name;
  }
  EXPECT_FALSE(kernel.checked.contains("1.0"));
}

TEST_F(InvalidationTest, NamesInTheFolderOfANodeAreNotKnown) {
  Kernel kernel;
  Changes changes;
  changes.unwatched = {"a"};
  EXPECT_FALSE(tree_->FindInvalidEntries(changes, kernel));
}

}  // namespace
}  // namespace zarrfs::invalidation_test
