#include "fs/tree/status_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "fs/tree/tree.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs::status_files_test {
namespace {

/// One file that says something else at each look, one that never does, and one that does so an
/// hour later.
struct Fixture {
  Fixture() {
    files.Set({{"counter", [this] { return std::to_string(++count); }},
               {"constant", [] { return std::string("same"); }},
               {"lasting", [this] { return std::to_string(++written); }, std::chrono::hours(1)}});
  }
  int count = 0;
  int written = 0;
  IdJournal journal;
  StatusFiles files{journal};
};

TEST(StatusFilesTest, OpenFileIsReadToItsEndHoweverOftenOthersLook) {
  Fixture fixture;
  const auto opened = fixture.files.Look("counter");
  ASSERT_TRUE(opened);
  for (int i = 0; i < 100'000; ++i) {
    const auto other = fixture.files.Look("counter");
    ASSERT_TRUE(other);
    ASSERT_NE(other->id, opened->id)
        << "an inode stands for one text, also when numbers come round";
    fixture.files.Forget(other->id, 1);
  }
  const auto found = fixture.files.Find(opened->id);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found->text, "1");
}

TEST(StatusFilesTest, ForgottenSnapshotsAreGone) {
  Fixture fixture;
  const auto first = fixture.files.Look("counter");
  const auto second = fixture.files.Look("counter");
  fixture.files.Forget(first->id, 1);
  EXPECT_FALSE(fixture.files.Find(first->id));
  fixture.files.Forget(second->id, 1);
  EXPECT_TRUE(fixture.files.Find(second->id)) << "the newest";
  (void)fixture.files.Look("counter");
  EXPECT_FALSE(fixture.files.Find(second->id));
}

TEST(StatusFilesTest, SameTextIsOneSnapshotUntilTheLastLookIsForgotten) {
  Fixture fixture;
  const auto first = fixture.files.Look("constant");
  const auto again = fixture.files.Look("constant");
  EXPECT_EQ(first->id, again->id);
  fixture.files.Forget(first->id, 2);
  EXPECT_EQ(fixture.files.Look("constant")->id, first->id);
}

TEST(StatusFilesTest, TextThatLastsIsNotWrittenAtEachLook) {
  Fixture fixture;
  const auto first = fixture.files.Look("lasting");
  EXPECT_EQ(fixture.files.Look("lasting")->id, first->id);
  EXPECT_EQ(fixture.written, 1);
  fixture.files.Forget(first->id, 1);
  fixture.files.Forget(first->id, 1);
  EXPECT_EQ(fixture.files.Look("lasting")->id, first->id);
}

TEST(StatusFilesTest, SnapshotsAreBounded) {
  Fixture fixture;
  std::vector<NodeId> ids;
  for (int i = 0; i < 5000; ++i) ids.push_back(fixture.files.Look("counter")->id);
  size_t kept = 0;
  for (const NodeId id : ids) kept += fixture.files.Find(id) ? 1 : 0;
  EXPECT_LE(kept, 1024U);
  EXPECT_TRUE(fixture.files.Find(ids.back()));
}

TEST(StatusFilesTest, BelongToTheOwnerOfTheStoreWhateverMemoryHasGivenUp) {
  constexpr uint32_t kOwner = 1234;
  auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": {}})");
  store->SetOwner("", 0755, kOwner, kOwner);
  const auto tree = Tree::Open(store, {});
  ASSERT_TRUE(tree) << tree.error().message;
  (*tree)->Evict(UINT64_MAX);
  const auto folder = (*tree)->LookUp(kRootId, ".zarrfs");
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_EQ(folder->attributes.st_uid, kOwner);
}

}  // namespace
}  // namespace zarrfs::status_files_test
