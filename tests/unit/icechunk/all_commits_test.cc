#include "zarrcore/icechunk/all_commits.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "tests/unit/support/folder_names.h"
#include "tests/unit/support/icechunk_writer.h"
#include "tests/unit/support/read.h"

namespace zarrfs::all_commits_test {
namespace {

constexpr uint8_t kFirst = 1;
constexpr uint8_t kSecond = 2;
constexpr uint8_t kThird = 3;
constexpr uint8_t kUnnamed = 4;
constexpr uint8_t kManifest = 5;
constexpr uint8_t kNextManifest = 6;
constexpr uint8_t kNode = 7;

std::string Id(uint8_t id) { return IcechunkIdText(IcechunkIdOf(id)); }

struct AllCommitsTest : testing::Test {
  std::shared_ptr<FakeStore> container = std::make_shared<FakeStore>();
  std::mutex mutex;
  std::condition_variable called;
  std::vector<Changes> steps;  // as they were announced

  // A commit with a group, and an array with one chunk.
  void WriteSnapshot(uint8_t id, const std::string& group, uint8_t manifest) const {
    container->Put("snapshots/" + Id(id),
                   IcechunkWriter::Snapshot(
                       id, {{"/", group}, {"/a", "a", kNode, true, 1, {{manifest, {{0, 1}}}}}}));
    container->Put("manifests/" + Id(manifest),
                   IcechunkWriter::Manifest(
                       manifest, {{kNode, {{{0}, 0, 0, 0, fmt::format("chunk {}", manifest)}}}}));
  }
  void WriteAll() const {
    WriteSnapshot(kFirst, "first", kManifest);
    WriteSnapshot(kSecond, "first", kNextManifest);
    WriteSnapshot(kThird, "third", kNextManifest);
    WriteSnapshot(kUnnamed, "unnamed", kManifest);
  }
  void Point(const std::string& name, uint8_t id) const {
    container->Put("refs/" + name + "/ref.json", fmt::format(R"({{"snapshot":"{}"}})", Id(id)));
  }
  [[nodiscard]] std::shared_ptr<Store> Open() const {
    return OpenAllOfIcechunk(container, std::chrono::milliseconds(5)).value();
  }
  [[nodiscard]] std::shared_ptr<Store> OpenFollowed() {
    auto store = Open();
    EXPECT_TRUE(store->StartWatching(
        [this](const Changes& changes) {
          const std::lock_guard lock(mutex);
          if (!changes.is_coming) steps.push_back(changes);
          called.notify_all();
        },
        [](std::string_view) {}));
    return store;
  }
  // The changes of the next step.
  Changes Step() {
    std::unique_lock lock(mutex);
    const bool has_come =
        called.wait_for(lock, std::chrono::seconds(30), [&] { return !steps.empty(); });
    EXPECT_TRUE(has_come);
    Changes step = has_come ? steps.front() : Changes{};
    steps.clear();
    return step;
  }
};

TEST_F(AllCommitsTest, TheRootHasBranchesAndTagsAndEachCommitCanBeOpened) {
  WriteAll();
  for (const bool is_version_2 : {false, true}) {
    container->Remove("refs");
    if (is_version_2) {
      container->Put(
          "repo", IcechunkWriter::Repo({{"main", 1}, {"x/y%", 0}}, {{"v1", 0}}, {kFirst, kSecond}));
    } else {
      Point("branch.main", kSecond);
      Point("branch.x\ny%", kFirst);
      Point("tag.v1", kFirst);
      Point("tag.gone", kFirst);
      container->Put("refs/tag.gone/ref.json.deleted", "");
    }
    const auto store = Open();
    EXPECT_EQ(FolderNames(*store, ""), is_version_2 ? "branch.main/ branch.x%2Fy%25/ tag.v1/ "
                                                    : "branch.main/ branch.x%0Ay%25/ tag.v1/ ");
    EXPECT_EQ(FolderNames(*store, "snapshot"), Id(kSecond) + "/ " + Id(kFirst) + "/ ");
    EXPECT_EQ(FolderNames(*store, "tag.v1"), "zarr.json a/ ");
    EXPECT_EQ(FolderNames(*store, "tag.v1/a/c"), "0 ");
    EXPECT_EQ(Read(*store, "tag.v1/a/c/0"), "chunk 5");
    EXPECT_EQ(Read(*store, "branch.main/a/c/0"), "chunk 6");
    EXPECT_EQ(
        Read(*store, is_version_2 ? "branch.x%2Fy%25/zarr.json" : "branch.x%0Ay%25/zarr.json"),
        "first");
    EXPECT_EQ(Read(*store, "snapshot/" + Id(kUnnamed) + "/zarr.json"), "unnamed");
    for (const auto& key : {std::string("zarr.json"), std::string("branch.other/zarr.json"),
                            "snapshot/" + Id(9) + "/zarr.json", std::string("snapshot/zarr.json"),
                            std::string("tag.gone/zarr.json"), std::string("snapshot")}) {
      EXPECT_TRUE(Read(*store, key).starts_with("not found")) << key;
    }
    EXPECT_TRUE(store->Stat("snapshot")->is_folder);
    EXPECT_TRUE(store->Stat("")->is_folder);
  }
}

TEST_F(AllCommitsTest, NamesOfVersion1AreDecodedAsIcechunkStoresThemInFolders) {
  WriteAll();
  for (const char* const name : {"main", "a%25b", "%C3%A9", "a%2525b", "50%", "%41"}) {
    Point(std::string("branch.") + name, kFirst);
  }
  const auto store = Open();
  EXPECT_EQ(FolderNames(*store, ""),
            "branch.%2541/ branch.50%25/ branch.a%2525b/ branch.a%25b/ branch.main/ branch.é/ ");
  EXPECT_EQ(Read(*store, "branch.a%2525b/zarr.json"), "first");
}

TEST_F(AllCommitsTest, ACommitThatCannotBeReadIsNotAbsent) {
  WriteAll();
  Point("branch.main", kFirst);
  Point("tag.v1", kSecond);
  container->Put("snapshots/" + Id(kSecond), "damaged");
  container->Put("snapshots/" + Id(kUnnamed), "damaged");
  const auto store = Open();
  EXPECT_EQ(store->Stat("tag.v1/zarr.json").error().code, ErrorCode::kIo);
  EXPECT_EQ(store->Stat("snapshot/" + Id(kUnnamed) + "/a").error().code, ErrorCode::kIo);
  container->Remove("snapshots/" + Id(kFirst));
  EXPECT_EQ(store->Stat("branch.main/zarr.json").error().code, ErrorCode::kIo);
}

TEST_F(AllCommitsTest, BranchesAreFollowedByStepsThatNameWhatDiffers) {
  WriteAll();
  const auto write = [&](const IcechunkWriter::Refs& branches, const IcechunkWriter::Refs& tags) {
    container->Put("repo", IcechunkWriter::Repo(branches, tags, {kFirst, kSecond, kThird}));
  };
  write({{"main", 0}, {"dev", 0}}, {{"v1", 0}});
  const auto store = OpenFollowed();
  EXPECT_EQ(Read(*store, "branch.main/a/c/0"), "chunk 5");
  EXPECT_EQ(Read(*store, "tag.v1/a/c/0"), "chunk 5");

  write({{"main", 1}, {"dev", 0}}, {{"v1", 0}});
  Changes step = Step();
  EXPECT_EQ(step.keys, std::vector<std::string>{"branch.main/a/c/0"});
  EXPECT_FALSE(step.all || step.all_names);
  EXPECT_EQ(Read(*store, "branch.main/a/c/0"), "chunk 6");

  // A document differs.
  write({{"main", 2}, {"dev", 0}}, {{"v1", 0}});
  step = Step();
  EXPECT_EQ(step.keys, std::vector<std::string>{"branch.main"});
  EXPECT_EQ(step.folders, std::vector<std::string>{"branch.main/a"});
  EXPECT_TRUE(step.all_names && !step.all);
  EXPECT_EQ(Read(*store, "branch.main/zarr.json"), "third");

  // Nobody has used dev: nothing of it is read.
  write({{"main", 2}, {"dev", 1}}, {{"v1", 0}});
  step = Step();
  EXPECT_TRUE(step.keys.empty() && step.folders.empty() && !step.all && !step.all_names);
  EXPECT_EQ(Read(*store, "branch.dev/a/c/0"), "chunk 6");

  write({{"main", 2}, {"new", 0}}, {{"v1", 0}, {"v2", 2}});
  step = Step();
  EXPECT_EQ(step.keys, (std::vector<std::string>{"branch.dev", "branch.new", "tag.v2"}));
  EXPECT_TRUE(step.all_names && !step.all);
  EXPECT_EQ(FolderNames(*store, ""), "branch.main/ branch.new/ tag.v1/ tag.v2/ ");
  EXPECT_TRUE(Read(*store, "branch.dev/a/c/0").starts_with("not found"));
  EXPECT_EQ(Read(*store, "tag.v1/a/c/0"), "chunk 5");
  EXPECT_EQ(store->change_count(), 5u);
}

TEST_F(AllCommitsTest, ABranchWhoseNextCommitCannotBeReadStaysAndGoesOnOnceItCan) {
  WriteAll();
  Point("branch.main", kFirst);
  Point("branch.dev", kFirst);
  const auto store = OpenFollowed();
  EXPECT_EQ(Read(*store, "branch.main/zarr.json"), "first");
  EXPECT_EQ(Read(*store, "branch.dev/zarr.json"), "first");
  container->Put("snapshots/" + Id(kThird), "damaged");
  Point("branch.main", kThird);
  Point("branch.dev", kSecond);
  while (Read(*store, "branch.dev/a/c/0") != "chunk 6") Step();
  EXPECT_EQ(Read(*store, "branch.main/zarr.json"), "first");
  WriteSnapshot(kThird, "third", kNextManifest);
  while (Read(*store, "branch.main/zarr.json") != "third") Step();
}

}  // namespace
}  // namespace zarrfs::all_commits_test
