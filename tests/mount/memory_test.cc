// Nodes that a mount evicts when it has seen many arrays come back unchanged.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <thread>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::memory_test {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kTtl{0.3};
constexpr int kOthers = 200;  // more arrays than node_cache=1 holds

ino_t InodeOf(const fs::path& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_ino;
}

std::string ReadAll(int descriptor) {
  std::string bytes(65536, '\0');
  const ssize_t size = pread(descriptor, bytes.data(), bytes.size(), 0);
  EXPECT_GE(size, 0) << std::strerror(errno);
  bytes.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return bytes;
}

class MemoryTest : public testing::Test {
 protected:
  MemoryTest() {
    for (int i = 0; i < kOthers; ++i) {
      fs::copy(store_ / "a", store_ / ("b" + std::to_string(i)), fs::copy_options::recursive);
    }
  }
  void UseOthers(const TestMount& mount) {
    for (int i = 0; i < kOthers; ++i) {
      EXPECT_EQ(ReadFile(mount / ("v2/b" + std::to_string(i)) / "0.1"), chunks_.at("0.1"));
    }
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
};

TEST_F(MemoryTest, WhatWasOpenedBeforeManyOthersIsReadAfterThem) {
  const TestMount mount(store_, "node_cache=1");
  const std::string zarray = ReadFile(mount / "v2/b0/.zarray");
  const int document = open((mount / "v2/a/.zarray").c_str(), O_RDONLY);
  const int chunk = open((mount / "v2/a/0.1").c_str(), O_RDONLY);
  const int consolidated = open((mount / "v3/zarr.json").c_str(), O_RDONLY);
  const int folder = open((mount / "v3/a/c/0").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_TRUE(document >= 0 && chunk >= 0 && consolidated >= 0 && folder >= 0);
  UseOthers(mount);
  EXPECT_EQ(ReadAll(document), zarray);
  EXPECT_EQ(ReadAll(chunk), chunks_.at("0.1"));
  EXPECT_EQ(ReadAll(consolidated), ReadFile(mount / "v3/zarr.json"));
  const int below = openat(folder, "1", O_RDONLY);
  EXPECT_EQ(ReadAll(below), chunks_.at("0.1"));
  for (const int descriptor : {document, chunk, consolidated, folder, below}) close(descriptor);
}

TEST_F(MemoryTest, FilesOfAnArrayThatWasNotUsedForLongHaveTheSameInodes) {
  const TestMount mount(store_, "node_cache=1,ttl=" + std::to_string(kTtl.count()));
  const char* const names[] = {"v2/a",   "v2/a/.zarray", "v2/a/0.1",
                               "v3/a/c", "v3/a/c/0",     "v3/a/c/0/1"};
  std::map<std::string, ino_t> inodes;
  for (const char* name : names) inodes[name] = InodeOf(mount / name);
  UseOthers(mount);
  std::this_thread::sleep_for(kTtl);  // so the kernel looks up the names again
  for (const char* name : names) EXPECT_EQ(InodeOf(mount / name), inodes[name]) << name;
}

TEST_F(MemoryTest, AChangeOfAnArrayThatWasNotUsedForLongIsSeen) {
  const TestMount mount(store_, "node_cache=1,ttl=" + std::to_string(kTtl.count()));
  const std::string before = ReadFile(mount / "v2/a/.zattrs");
  const int chunk = open((mount / "v2/a/0.1").c_str(), O_RDONLY);
  UseOthers(mount);
  std::string json = ReadFile(store_ / "a/zarr.json");
  const std::string attributes = R"("attributes": {)";
  ASSERT_NE(json.find(attributes), std::string::npos) << json;
  json.insert(json.find(attributes) + attributes.size(), R"("new": 1, )");
  Replace(store_ / "a/zarr.json", json);
  std::this_thread::sleep_for(kTtl);
  EXPECT_NE(ReadFile(mount / "v2/a/.zattrs"), before);
  EXPECT_EQ(ReadAll(chunk), chunks_.at("0.1")) << "of the chunks nothing has changed";
  close(chunk);
}

TEST_F(MemoryTest, MetadataThatAreBrokenForAMomentCostNoOpenFile) {
  const TestMount mount(store_, "ttl=" + std::to_string(kTtl.count()));
  const int chunk = open((mount / "v2/a/0.1").c_str(), O_RDONLY);
  const ino_t inode = InodeOf(mount / "v2/a/0.1");
  const std::string json = ReadFile(store_ / "a/zarr.json");
  Replace(store_ / "a/zarr.json", json.substr(0, json.size() / 2));
  std::this_thread::sleep_for(kTtl);
  EXPECT_NE(Shell("cat " + (mount / "v2/a/.zarray").string()).code, 0);
  EXPECT_EQ(ReadAll(chunk), chunks_.at("0.1"));
  Replace(store_ / "a/zarr.json", json);
  std::this_thread::sleep_for(kTtl);
  EXPECT_EQ(InodeOf(mount / "v2/a/0.1"), inode);
  close(chunk);
}

}  // namespace
}  // namespace zarrfs::memory_test
