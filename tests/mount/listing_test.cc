// The names that exist, and their listings.

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::listing_test {
namespace {

namespace fs = std::filesystem;

int ErrorOfStat(const fs::path& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 ? 0 : errno;
}

int ErrorOfRead(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  if (fd < 0) return errno;
  char byte;
  const int error = read(fd, &byte, 1) < 0 ? errno : 0;
  close(fd);
  return error;
}

struct Listed {
  std::string name;
  off_t next;  // the offset of the next entry
};

// Lists at most `limit` names from `offset` on, with getdents64(2) and a buffer of `buffer_size`
// bytes. Omits "." and "..".
std::vector<Listed> List(const fs::path& folder, size_t buffer_size, off_t offset = 0,
                         size_t limit = SIZE_MAX) {
  std::vector<Listed> names;
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_GE(fd, 0) << folder;
  if (offset != 0) {
    EXPECT_EQ(lseek(fd, offset, SEEK_SET), offset);
  }
  std::vector<char> buffer(buffer_size);
  for (;;) {
    const long have = syscall(SYS_getdents64, fd, buffer.data(), buffer.size());
    EXPECT_GE(have, 0) << std::strerror(errno);
    if (have <= 0 || names.size() >= limit) break;
    for (long at = 0; at < have;) {
      // d_ino, d_off, d_reclen, d_type, d_name
      const char* entry = buffer.data() + at;
      off_t next;
      uint16_t length;
      std::memcpy(&next, entry + 8, sizeof next);
      std::memcpy(&length, entry + 16, sizeof length);
      const std::string name = entry + 19;
      if (name != "." && name != ".." && names.size() < limit) names.push_back({name, next});
      at += length;
    }
  }
  close(fd);
  return names;
}

std::vector<std::string> Names(const std::vector<Listed>& listed) {
  std::vector<std::string> names;
  for (const Listed& entry : listed) names.push_back(entry.name);
  return names;
}

// The resident memory of the worker, in KiB.
long MemoryOf(const TestMount& mount) {
  std::ifstream status("/proc/" + std::to_string(WorkerOf(mount.path())) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  throw std::runtime_error("no VmRSS");
}

// Writes the metadata of an unsharded array "line" with `count` chunks of one byte in one folder.
void WriteLine(const fs::path& store, uint64_t count) {
  const Json zarray = {{"zarr_format", 2},   {"shape", {count}},      {"chunks", {1}},
                       {"dtype", "|u1"},     {"compressor", nullptr}, {"order", "C"},
                       {"filters", nullptr}, {"fill_value", 0},       {"dimension_separator", "."}};
  Replace(store / "line/.zarray", zarray.dump());
}

class ListingTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
};

TEST_F(ListingTest, MissingChunkHasNoFile) {
  const TestMount mount(store_);
  EXPECT_EQ(ErrorOfStat(mount / "v2/a/0.3"), ENOENT) << "its shard has other chunks";
  EXPECT_EQ(ErrorOfStat(mount / "v2/a/3.3"), ENOENT) << "its shard does not exist";
  EXPECT_EQ(ErrorOfStat(mount / "v3/a/c/3/3"), ENOENT);
  EXPECT_EQ(ErrorOfStat(mount / "v2/a/4.0"), ENOENT) << "beyond the array";
}

TEST_F(ListingTest, OnlyTheCanonicalNameOfAChunkExists) {
  const TestMount mount(store_);
  EXPECT_EQ(ErrorOfStat(mount / "v2/a/0.1"), 0);
  for (const std::string name : {"00.1", "0.01", "+0.1", "-0.1", " 0.1", "0.1 ", "0", "0.1.0", "0.",
                                 ".1", "0x0.1", "0,1", "0.1e0", "c.0.1", "C", "c", "0/1"}) {
    EXPECT_EQ(ErrorOfStat(mount / "v2/a" / name), ENOENT) << name;
  }
  EXPECT_EQ(ErrorOfStat(mount / "v3/a/c/0/1"), 0);
  for (const std::string name : {"c/00/1", "c/0/01", "c/0.1", "0/1", "0.1", "c0", "c/+0/1",
                                 ".zarray", "c/18446744073709551616/1", "c/0/zarr.json"}) {
    EXPECT_EQ(ErrorOfStat(mount / "v3/a" / name), ENOENT) << name;
  }
  EXPECT_EQ(ErrorOfStat(mount / "v3/a/c/0/1/0"), ENOTDIR);
  EXPECT_EQ(ErrorOfStat(mount / "v1"), ENOENT);
}

TEST_F(ListingTest, FolderWithoutChunksIsNotListed) {
  fs::remove(store_ / "a/c/1/0");
  const TestMount mount(store_);
  EXPECT_EQ(Names(List(mount / "v3/a/c", 4096)), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(ErrorOfStat(mount / "v3/a/c/2"), ENOENT);
  fs::remove_all(store_ / "a/c");
  const TestMount without(store_);
  EXPECT_EQ(Names(List(without / "v3/a", 4096)), std::vector<std::string>{"zarr.json"});
}

TEST_F(ListingTest, ListingsAreCompleteSortedAndTheSameInAnySteps) {
  // 600 chunks in one folder; every third one is missing.
  const SampleArray line{.shape = {600}, .shard = {100}, .chunk = {1}};
  Replace(store_ / "line/zarr.json", line.ZarrJson());
  std::vector<std::string> expected;
  for (uint64_t shard = 0; shard < 6; ++shard) {
    Chunks chunks;
    for (uint64_t i = 0; i < 100; ++i) {
      if (i % 3 == 0) continue;
      chunks[i] = "x";
      expected.push_back(std::to_string(shard * 100 + i));
    }
    Replace(store_ / "line/c" / std::to_string(shard), EncodeShard(100, chunks));
  }
  const TestMount mount(store_);
  for (const size_t buffer_size : {64, 256, 1000, 4096, 65536}) {
    EXPECT_EQ(Names(List(mount / "v3/line/c", buffer_size)), expected) << buffer_size;
  }
  std::vector<std::string> flat = Names(List(mount / "v2/line", 128));
  EXPECT_EQ(flat, Names(List(mount / "v2/line", 65536)));
  flat.erase(flat.begin(), flat.end() - static_cast<ptrdiff_t>(expected.size()));
  EXPECT_EQ(flat, expected);
}

TEST_F(ListingTest, ListingGoesOnWhereItWasLeft) {
  const TestMount mount(store_);
  for (const std::string name : {"v2/a", "v3/a/c", "v3/a/c/0", "v3/a", "v2", ""}) {
    const std::vector<Listed> all = List(mount / name, 4096);
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<std::string> expected = Names(all);
      expected.erase(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(i) + 1);
      EXPECT_EQ(Names(List(mount / name, 96, all[i].next)), expected)
          << name << " from " << all[i].name;
    }
  }
}

TEST_F(ListingTest, TelldirAndSeekdirWork) {
  const TestMount mount(store_);
  DIR* folder = opendir((mount / "v2/a").c_str());
  ASSERT_NE(folder, nullptr);
  std::vector<std::pair<long, std::string>> entries;
  for (;;) {
    const long at = telldir(folder);
    const dirent* entry = readdir(folder);
    if (entry == nullptr) break;
    entries.emplace_back(at, entry->d_name);
  }
  std::ranges::reverse(entries);
  for (const auto& [at, name] : entries) {
    seekdir(folder, at);
    const dirent* entry = readdir(folder);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(entry->d_name, name);
  }
  closedir(folder);
}

TEST_F(ListingTest, HugeSparseArrayIsListedAtOnce) {
  const SampleArray huge{.shape = {1'000'000, 1'000'000}, .shard = {10, 10}, .chunk = {1, 1}};
  Replace(store_ / "huge/zarr.json", huge.ZarrJson());
  Replace(store_ / "huge/c/0/0", EncodeShard(100, {{0, "first"}}));
  Replace(store_ / "huge/c/50000/77777", EncodeShard(100, {{42, "middle"}}));
  Replace(store_ / "huge/c/99999/99999", EncodeShard(100, {{98, "x"}, {99, "last"}}));
  const TestMount mount(store_);
  const auto start = std::chrono::steady_clock::now();
  const Outcome found = Shell(
      "cd " + mount.path().string() + " && find v2/huge v3/huge -name '[0-9]*' -type f | sort",
      Seconds(5));
  const Seconds took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(found.code, 0) << found.errors;
  EXPECT_EQ(found.output,
            "v2/huge/0.0\nv2/huge/500004.777772\nv2/huge/999999.999998\nv2/huge/999999.999999\n"
            "v3/huge/c/0/0\nv3/huge/c/500004/777772\nv3/huge/c/999999/999998\n"
            "v3/huge/c/999999/999999\n");
  EXPECT_LT(took.count(), 5 * SanitizerFactor());
  EXPECT_EQ(ReadFile(mount / "v2/huge/999999.999999"), "last");
  EXPECT_EQ(ErrorOfStat(mount / "v2/huge/500000.500000"), ENOENT);
}

// Chunks that are not stored have files if readers would mask the fill value. Here, these are a
// hundred million files.
TEST_F(ListingTest, HugeListingOfMadeUpFilesBeginsAtOnceAndTakesNoMemory) {
  SampleArray huge{.shape = {10'000, 10'000}, .shard = {100, 100}, .chunk = {1, 1}};
  auto json = Json::parse(huge.ZarrJson());
  json["dimension_names"] = {"y", "x"};
  Replace(store_ / "huge/zarr.json", json.dump());
  const TestMount mount(store_);
  EXPECT_EQ(List(mount / "v2/huge", 4096, 0, 3).size(), 3U) << "and no more was waited for";
  const int fd = open((mount / "v2/huge").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_GE(fd, 0);
  std::vector<char> buffer(1 << 20);
  const long before = MemoryOf(mount);
  long bytes = 0;
  while (bytes < 30'000'000) {  // about a million names
    const long have = syscall(SYS_getdents64, fd, buffer.data(), buffer.size());
    ASSERT_GT(have, 0);
    bytes += have;
  }
  close(fd);
  EXPECT_LT(static_cast<double>(MemoryOf(mount) - before), (16 << 10) * SanitizerFactor()) << "KiB";
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    return mount.Log().find("all 100000000 chunks are files") != std::string::npos;
  })) << mount.Log();
}

TEST_F(ListingTest, AListingOfManyStoredChunksTakesNoMemoryAndGoesOnFromAnywhere) {
  constexpr uint64_t kCount = 50'000;  // more names than a listing sorts
  WriteLine(store_, kCount);
  for (uint64_t i = 0; i < kCount; ++i) {
    std::ofstream(store_ / "line" / std::to_string(i)) << 'x';
  }
  const TestMount mount(store_);
  EXPECT_EQ(List(mount / "v2/line", 4096, 0, 3).size(), 3U);
  const long before = MemoryOf(mount);
  const std::vector<Listed> all = List(mount / "v2/line", 4096);
  EXPECT_LT(static_cast<double>(MemoryOf(mount) - before), 4096 * SanitizerFactor()) << "KiB";
  std::vector<std::string> names = Names(all);
  for (const size_t i : {all.size() - 2, size_t{30'000}, size_t{7}}) {
    EXPECT_EQ(Names(List(mount / "v2/line", 4096, all[i].next, 1)),
              std::vector<std::string>{names[i + 1]});
  }
  EXPECT_EQ(Names(List(mount / "v2/line", 65536)), names) << "always in the same order";
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(std::ranges::count_if(names, [](const auto& name) { return name[0] != '.'; }),
            static_cast<ptrdiff_t>(kCount));
}

TEST_F(ListingTest, AListingGivesWhatStaysOnceWhileOtherChunksComeAndGo) {
  constexpr uint64_t kCount = 20'000;
  WriteLine(store_, 2 * kCount);
  const auto chunk = [&](uint64_t i) { return store_ / "line" / std::to_string(i); };
  for (uint64_t i = 0; i < kCount; ++i) std::ofstream(chunk(i)) << 'x';
  const TestMount mount(store_);
  std::multiset<std::string> names;
  DIR* const folder = opendir((mount / "v2/line").c_str());
  ASSERT_NE(folder, nullptr);
  uint64_t changed = 0;
  for (;;) {
    const dirent* const entry = readdir(folder);
    if (entry == nullptr) break;
    names.insert(entry->d_name);
    if (names.size() % 20 != 0) continue;
    fs::remove(chunk(changed * 10 + 1));
    std::ofstream(chunk(kCount + changed)) << 'x';
    ++changed;
  }
  closedir(folder);
  EXPECT_GE(changed, kCount / 40);
  for (uint64_t i = 0; i < kCount; i += 10) {
    ASSERT_EQ(names.count(std::to_string(i)), 1U) << i;
  }
}

// --- Damage

TEST_F(ListingTest, ChunksOfADamagedShardAreListedAndCannotBeUsed) {
  std::string shard = ReadFile(store_ / "a/c/1/0");
  shard.back() = static_cast<char>(shard.back() ^ 1);
  Replace(store_ / "a/c/1/0", shard);
  const TestMount mount(store_);
  const auto names = Names(List(mount / "v2/a", 4096));
  for (const std::string name : {"2.0", "2.1", "3.0", "3.1"}) {
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
    // zarr-python 2 silently uses the fill value for chunks that os.path.isfile() does not find.
    struct stat st {};
    EXPECT_EQ(stat((mount / "v2/a" / name).c_str(), &st), 0) << name;
    EXPECT_TRUE(S_ISREG(st.st_mode)) << name;
    EXPECT_GT(st.st_size, 0) << "an empty file would be read without asking";
    EXPECT_EQ(ErrorOfRead(mount / "v2/a" / name), EIO) << name;
  }
  EXPECT_EQ(Names(List(mount / "v3/a/c/2", 4096)), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(ErrorOfRead(mount / "v3/a/c/2/1"), EIO);
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1")) << "other shards are not concerned";
  EXPECT_NE(mount.Log().find("a/c/1/0"), std::string::npos) << "the log names the shard";
}

TEST_F(ListingTest, RepairedShardCanBeReadAgain) {
  const std::string sound = ReadFile(store_ / "a/c/1/0");
  Replace(store_ / "a/c/1/0", "not even an index");
  const TestMount mount(store_, "ttl=0.2");
  EXPECT_EQ(ErrorOfRead(mount / "v2/a/2.1"), EIO);
  Replace(store_ / "a/c/1/0", sound);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(ReadFile(mount / "v2/a/2.1"), chunks_.at("2.1"));
}

TEST_F(ListingTest, CopyOfADamagedStoreFails) {
  Replace(store_ / "a/c/1/0", "not even an index");
  const TestMount mount(store_);
  const Outcome cp = Shell("cp -r " + mount.path().string() + "/v2 " + (folder_ / "copy").string());
  EXPECT_NE(cp.code, 0);
  EXPECT_NE(cp.errors.find("Input/output error"), std::string::npos) << cp.errors;
  EXPECT_EQ(ReadFile(folder_ / "copy/a/0.1"), chunks_.at("0.1"));
}

TEST_F(ListingTest, ChunkThatReachesBeyondItsShardCannotBeRead) {
  std::string shard = EncodeShard(4, {{0, "good"}, {1, std::string(600, 'b')}});
  Replace(store_ / "a/c/0/0", shard.substr(500));  // the same index, fewer bytes
  const TestMount mount(store_);
  EXPECT_EQ(ErrorOfRead(mount / "v2/a/0.1"), EIO);
}

}  // namespace
}  // namespace zarrfs::listing_test
