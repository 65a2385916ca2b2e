#include "zarrcore/local/folder_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "zarrcore/local/local_store.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs::folder_watch_test {
namespace {

namespace fs = std::filesystem;

class FolderWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "folder-watch-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    top_ = name;
    fs::create_directories(top_ / "store/a/c/0");
    Write("store/a/zarr.json", "{}");
    Write("store/a/c/0/0", "shard");
    auto store = OpenLocalStore((top_ / "store").string());
    ASSERT_TRUE(store);
    store_ = *store;
    const auto started = store_->StartWatching(
        [this](const Changes& changes) {
          const std::lock_guard lock(mutex_);
          keys_.insert(changes.keys.begin(), changes.keys.end());
          told_.notify_all();
        },
        [](std::string_view) {});
    ASSERT_TRUE(started) << started.error().message;
  }
  void TearDown() override {
    store_.reset();
    fs::remove_all(top_);
  }

  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(top_ / name) << bytes;
  }
  // True if the change count differs from `count` within about 5 s.
  bool IsCounted(uint64_t count) const {
    for (int i = 0; i < 5000 && store_->change_count() == count; ++i) usleep(1000);
    return store_->change_count() != count;
  }
  // True if the change count is still `count` after 100 ms, in which an event would have arrived.
  bool Stays(uint64_t count) const {
    usleep(100'000);
    return store_->change_count() == count;
  }
  bool IsTold(const std::string& key) {
    std::unique_lock lock(mutex_);
    return told_.wait_for(lock, std::chrono::seconds(5), [&] { return keys_.contains(key); });
  }

  fs::path top_;
  std::shared_ptr<Store> store_;
  std::mutex mutex_;
  std::condition_variable told_;
  std::set<std::string> keys_;
};

TEST_F(FolderWatchTest, EachKindOfChangeIsCountedAndNamed) {
  uint64_t count = store_->Watch("a/c/0");
  ASSERT_NE(count, 0U);
  const auto again = [&] {
    while ((count = store_->Watch("a/c/0")) != store_->change_count()) {
    }
  };
  Write("temporary", "replacing");
  fs::rename(top_ / "temporary", top_ / "store/a/c/0/0");
  EXPECT_TRUE(IsCounted(count)) << "renamed over";
  EXPECT_TRUE(IsTold("a/c/0/0"));
  again();
  Write("store/a/c/0/0", "rewritten");
  EXPECT_TRUE(IsCounted(count)) << "rewritten in place";
  again();
  Write("store/a/c/0/1", "new");
  EXPECT_TRUE(IsCounted(count)) << "added";
  EXPECT_TRUE(IsTold("a/c/0/1"));
  again();
  fs::remove(top_ / "store/a/c/0/1");
  EXPECT_TRUE(IsCounted(count)) << "removed";
  again();
  ASSERT_EQ(chmod((top_ / "store/a/c/0/0").c_str(), 0400), 0);
  EXPECT_TRUE(IsCounted(count)) << "attributes";
  again();
  Write("store/a/zarr.json", "{ }");
  EXPECT_TRUE(IsCounted(count)) << "above";
  EXPECT_TRUE(IsTold("a/zarr.json"));
  for (const std::string name : {".zarray", ".zgroup", ".zattrs"}) {
    again();
    Write("store/a/" + name, "{}");
    EXPECT_TRUE(IsCounted(count)) << name;
    EXPECT_TRUE(IsTold("a/" + name));
  }
}

TEST_F(FolderWatchTest, TemporaryFilesOfWritersAndReadingAreNoChanges) {
  ASSERT_NE(store_->Watch("a/c/0"), 0U);
  const uint64_t count = store_->change_count();
  Write("store/a/c/0/0.7f3a.partial", "half");
  Write("store/a/c/0/0.__lock", "");
  std::ifstream(top_ / "store/a/c/0/0").get();
  EXPECT_TRUE(Stays(count));
}

TEST_F(FolderWatchTest, AllNamesOfAFolderCountWhereTheyAreAskedFor) {
  ASSERT_NE(store_->Watch("a"), 0U);
  uint64_t count = store_->change_count();
  Write("store/a/notes.xml", "old");
  EXPECT_TRUE(Stays(count));
  ASSERT_EQ(store_->WatchAllNames("a"), count);
  Write("store/a/notes.xml", "rewritten");
  EXPECT_TRUE(IsCounted(count));
  EXPECT_TRUE(IsTold("a/notes.xml"));
  do {
    count = store_->change_count();
  } while (store_->WatchAllNames("a") != count || !Stays(count));
  fs::remove(top_ / "store/a/notes.xml");
  EXPECT_TRUE(IsCounted(count));
}

TEST_F(FolderWatchTest, ANewSymbolicLinkIsAChange) {
  ASSERT_NE(store_->Watch(""), 0U);
  const uint64_t count = store_->change_count();
  fs::create_directory_symlink("a", top_ / "store/link");
  EXPECT_TRUE(IsCounted(count));
  EXPECT_TRUE(IsTold("link"));
}

TEST_F(FolderWatchTest, AnAbsentFolderIsReportedByItsParent) {
  const uint64_t count = store_->Watch("a/c/5");
  ASSERT_NE(count, 0U);
  fs::create_directory(top_ / "store/a/c/5");
  EXPECT_TRUE(IsCounted(count));
}

class LimitedWatchTest : public FolderWatchTest {
 protected:
  static constexpr size_t kRoom = 16;
  static std::string Name(int i) { return "a/" + std::to_string(i); }

  void StartWatch(std::chrono::nanoseconds patience) {
    for (int i = 0; i < 40; ++i) fs::create_directory(top_ / "store" / Name(i));
    auto started = FolderWatch::Start(
        "",
        [&](const std::string& key) {
          return Descriptor(open((top_ / "store" / key).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        },
        [&](const Changes& changes) {
          const std::lock_guard lock(mutex_);
          EXPECT_TRUE(changes.folders.empty() && !changes.all);
          unwatched_.insert(changes.unwatched.begin(), changes.unwatched.end());
          keys_.insert(changes.keys.begin(), changes.keys.end());
          told_.notify_all();
        },
        [&](std::string_view line) { lines_.emplace_back(line); }, {kRoom, patience});
    ASSERT_TRUE(started) << started.error().message;
    watch_ = *std::move(started);
  }
  void TearDown() override {
    watch_.reset();
    FolderWatchTest::TearDown();
  }

  std::unique_ptr<FolderWatch> watch_;
  std::set<std::string> unwatched_;
  std::vector<std::string> lines_;
};

TEST_F(LimitedWatchTest, FurtherFoldersAreNotWatchedAndNothingElseIsDifferent) {
  StartWatch(std::chrono::hours(1));
  const uint64_t count = watch_->Watch(Name(0));
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 40; ++i) {
      // Two of the watches are on the store and on the array.
      EXPECT_EQ(watch_->Watch(Name(i)), i < static_cast<int>(kRoom) - 2 ? count : 0U) << i;
    }
  }
  EXPECT_EQ(watch_->change_count(), count);
  EXPECT_EQ(watch_->state().folders, kRoom);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("16 folders are watched"), std::string::npos) << lines_[0];
  Write("store/a/30/0", "nobody watches");
  Write("store/a/0/0", "");
  EXPECT_TRUE(IsTold("a/0/0"));
  EXPECT_FALSE(keys_.contains("a/30/0"));
}

TEST_F(LimitedWatchTest, AfterAWhileTheOldestWatchesMakeRoom) {
  StartWatch(std::chrono::nanoseconds(0));
  for (int i = 0; i < 40; ++i) {
    ASSERT_NE(watch_->Watch(Name(i)), 0U);
    EXPECT_LE(watch_->state().folders, kRoom + 1);
  }
  {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(told_.wait_for(lock, std::chrono::seconds(5), [&] {
      return unwatched_.contains(Name(1)) && unwatched_.size() >= 24;
    }));
    EXPECT_FALSE(unwatched_.contains(Name(39)));
    EXPECT_FALSE(unwatched_.contains("a"));  // the parent of watched folders
    EXPECT_FALSE(unwatched_.contains(""));
  }
  usleep(100'000);  // until the last dropped watches are reported
  const uint64_t count = watch_->change_count();
  EXPECT_GT(count, 1U);  // dropping a watch invalidates cached answers
  Write("store/a/1/0", "nobody asked since");
  usleep(100'000);
  EXPECT_EQ(watch_->change_count(), count);
  Write("store/a/39/0", "");
  EXPECT_TRUE(IsTold("a/39/0"));
  ASSERT_NE(watch_->Watch(Name(1)), 0U);
  Write("store/a/1/1", "");
  EXPECT_TRUE(IsTold("a/1/1"));
}

TEST_F(FolderWatchTest, FolderThatIsMovedTakesItsWatchesAlong) {
  uint64_t count = store_->Watch("a/c/0");
  ASSERT_NE(count, 0U);
  fs::rename(top_ / "store/a/c", top_ / "store/a/old");
  EXPECT_TRUE(IsCounted(count));
  fs::create_directories(top_ / "store/a/c/0");
  usleep(100'000);
  count = store_->Watch("a/c/0");
  ASSERT_NE(count, 0U);
  Write("store/a/c/0/0", "in the new folder");
  EXPECT_TRUE(IsCounted(count));
}

TEST_F(FolderWatchTest, ChangesBehindALinkAreNotPromised) {
  fs::create_directories(top_ / "store/target/c");
  fs::create_directory_symlink("target", top_ / "store/linked");
  EXPECT_EQ(store_->Watch("linked/c"), 0U);
  fs::create_hard_link(top_ / "store/a/c/0/0", top_ / "store/a/second");
  const auto info = store_->Stat("a/c/0/0");
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->may_change_elsewhere);
}

TEST_F(FolderWatchTest, AnotherDirectoryInThePlaceOfTheStoreIsFollowed) {
  const uint64_t count = store_->Watch("a/c/0");
  ASSERT_NE(count, 0U);
  fs::create_directories(top_ / "next/a");
  Write("next/a/other", "bytes");
  fs::rename(top_ / "store", top_ / "before");
  fs::rename(top_ / "next", top_ / "store");
  EXPECT_TRUE(IsCounted(count));
  for (int i = 0; i < 5000 && !store_->Stat("a/other"); ++i) usleep(1000);
  EXPECT_TRUE(store_->Stat("a/other"));
  EXPECT_FALSE(store_->Stat("a/c/0/0"));
}

}  // namespace
}  // namespace zarrfs::folder_watch_test
