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
#include <mutex>
#include <set>
#include <string>

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
  // Whether the change count leaves `count` within some seconds.
  bool IsCounted(uint64_t count) const {
    for (int i = 0; i < 5000 && store_->change_count() == count; ++i) usleep(1000);
    return store_->change_count() != count;
  }
  // Whether it stays `count` for long enough that a notice would have come.
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

TEST_F(FolderWatchTest, FolderThatIsAbsentIsToldOfByTheOneAbove) {
  const uint64_t count = store_->Watch("a/c/5");
  ASSERT_NE(count, 0U);
  fs::create_directory(top_ / "store/a/c/5");
  EXPECT_TRUE(IsCounted(count));
}

TEST_F(FolderWatchTest, OfTooManyFoldersThoseAskedForLongestAgoMakeRoomAndAreToldOf) {
  constexpr size_t kRoom = 16;
  const auto name = [](int i) { return "a/" + std::to_string(i); };
  for (int i = 0; i < 40; ++i) fs::create_directory(top_ / "store" / name(i));
  std::set<std::string> folders;
  auto started = FolderWatch::Start(
      "",
      [&](const std::string& key) {
        return Descriptor(open((top_ / "store" / key).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      },
      [&](const Changes& changes) {
        const std::lock_guard lock(mutex_);
        folders.insert(changes.folders.begin(), changes.folders.end());
        keys_.insert(changes.keys.begin(), changes.keys.end());
        told_.notify_all();
      },
      [](std::string_view) {}, kRoom);
  ASSERT_TRUE(started) << started.error().message;
  FolderWatch& watch = **started;
  for (int i = 0; i < 40; ++i) {
    ASSERT_NE(watch.Watch(name(i)), 0U);
    ASSERT_NE(watch.Watch(name(0)), 0U);  // asked for all the time
    EXPECT_LE(watch.state().folders, kRoom + 1);
  }
  {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(told_.wait_for(lock, std::chrono::seconds(5),
                               [&] { return folders.contains(name(1)) && folders.size() >= 24; }));
    EXPECT_FALSE(folders.contains(name(0)));
    EXPECT_FALSE(folders.contains(name(39)));
    EXPECT_FALSE(folders.contains("a"));  // above those that are watched
  }
  const uint64_t count = watch.change_count();
  EXPECT_GT(count, 1U);  // an answer by a watch that made room holds no longer
  Write("store/a/1/0", "nobody asked since");
  usleep(100'000);
  EXPECT_EQ(watch.change_count(), count);
  Write("store/a/0/0", "");
  EXPECT_TRUE(IsTold("a/0/0"));
  ASSERT_NE(watch.Watch(name(1)), 0U);
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

TEST_F(FolderWatchTest, WhatIsReachedThroughALinkIsNotPromised) {
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
