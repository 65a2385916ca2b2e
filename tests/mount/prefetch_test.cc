// Chunk files that a mount pushes into the page cache before they are read.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::prefetch_test {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPerShard = 32;  // chunks of a shard along each axis; there are 2 shards
const std::string kReads = R"(zarrfs_requests_total{operation="read",result="ok"})";

uint64_t Figure(const TestMount& mount, const std::string& name) {
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // until the cached text has expired
  std::istringstream text(ReadFile(mount / ".zarrfs/metrics"));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(name + " ")) return std::stoull(line.substr(name.size() + 1));
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

// True if the mount prefetches. It does not over io_uring, because a thread that waits for the
// kernel would delay the requests that only this thread answers.
bool MayPrefetch(const TestMount& mount) {
  return ReadFile(mount / ".zarrfs/options").find("requests: by io_uring") == std::string::npos;
}

class PrefetchTest : public testing::Test {
 protected:
  PrefetchTest() {
    Replace(store_ / "zarr.json", GroupJson());
    Replace(store_ / "a/zarr.json", array_.ZarrJson());
    for (uint64_t shard = 0; shard < 2; ++shard) WriteShard(shard, shard);
  }

  // Chunks of up to 6,000 bytes; one in eight is missing.
  void WriteShard(uint64_t shard, uint64_t seed) {
    Chunks chunks;
    for (uint64_t slot = 0; slot < kPerShard * kPerShard; ++slot) {
      const std::string name =
          std::to_string(slot / kPerShard) + "." + std::to_string(shard * kPerShard + slot % 32);
      if (slot % 8 == 5) continue;
      chunks[slot] = Pattern(1 + (slot * 997 + seed) % 6000, seed << 32 | slot);
      content_[name] = chunks[slot];
    }
    Replace(store_ / "a/c/0" / std::to_string(shard), EncodeShard(kPerShard * kPerShard, chunks));
  }

  // Looks up all chunk files, and returns their names in the order of the listing.
  static std::vector<std::string> List(const fs::path& array) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(array)) {
      struct stat st {};
      EXPECT_EQ(stat(entry.path().c_str(), &st), 0);
      const std::string name = entry.path().filename();
      if (!name.starts_with('.')) names.push_back(name);
    }
    return names;
  }

  // The names of `count` chunk files, not in the order of a listing.
  std::vector<std::string> Names(size_t count) const {
    std::vector<std::string> names;
    for (const auto& [name, content] : content_) names.push_back(name);
    names.resize(count);
    return names;
  }

  // `pause`: between two files.
  size_t WrongFiles(const fs::path& array, const std::vector<std::string>& names,
                    std::chrono::microseconds pause = {}) const {
    size_t wrong = 0;
    for (const std::string& name : names) {
      wrong += ReadFile(array / name) != content_.at(name);
      if (pause.count() > 0) std::this_thread::sleep_for(pause);
    }
    return wrong;
  }

  const TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store.zarr";
  const SampleArray array_{.shape = {320, 640}, .shard = {320, 320}, .chunk = {10, 10}};
  std::map<std::string, std::string> content_;
};

TEST_F(PrefetchTest, ReaderInOrderOfTheListingAsksForFewFiles) {
  const TestMount mount(store_);
  const auto names = List(mount / "v2/a");
  ASSERT_EQ(names.size(), content_.size());
  // With a sanitizer, the server is slower than a reader that does not pause.
  const std::chrono::microseconds pause(SanitizerFactor() > 1 ? 500 : 0);
  EXPECT_EQ(WrongFiles(mount / "v2/a", names, pause), 0U);
  const uint64_t ahead = Figure(mount, "zarrfs_read_ahead_files_total");
  const uint64_t reads = Figure(mount, kReads);
  if (!MayPrefetch(mount)) {
    EXPECT_EQ(ahead, 0U);
    return;
  }
  EXPECT_GT(ahead, names.size() * 3 / 4);
  EXPECT_LT(reads, names.size() * 3 / 4);
  EXPECT_GE(ahead + reads, names.size());
}

TEST_F(PrefetchTest, FilesInFoldersOfTheirOwnArePrefetched) {
  const TestMount mount(store_, "view=v2,separator=/");
  size_t wrong = 0;
  for (uint64_t row = 0; row < kPerShard; ++row) {
    const fs::path folder = mount / "a" / std::to_string(row);
    for (const std::string& name : List(folder)) {
      wrong += ReadFile(folder / name) != content_.at(std::to_string(row) + "." + name);
    }
  }
  EXPECT_EQ(wrong, 0U);
  if (!MayPrefetch(mount)) return;
  EXPECT_GT(Figure(mount, "zarrfs_read_ahead_files_total"), content_.size() / 2);
}

TEST_F(PrefetchTest, WhoOnlyLooksFilesUpMakesNobodyReadThem) {
  const TestMount mount(store_);
  const auto names = Names(500);
  for (const std::string& name : names) {
    struct stat st {};
    EXPECT_EQ(stat((mount / "v2/a" / name).c_str(), &st), 0);
    EXPECT_EQ(static_cast<size_t>(st.st_size), content_.at(name).size());
  }
  EXPECT_EQ(Figure(mount, "zarrfs_read_ahead_files_total"), 0U);
}

TEST_F(PrefetchTest, OtherReadersGetWhatTheyAskForAndNoMore) {
  const TestMount backwards(store_);
  auto names = List(backwards / "v2/a");
  std::ranges::reverse(names);
  EXPECT_EQ(WrongFiles(backwards / "v2/a", names), 0U);
  EXPECT_EQ(Figure(backwards, "zarrfs_read_ahead_files_total"), 0U) << "another order";

  const TestMount other(store_, "threads=1");
  EXPECT_EQ(WrongFiles(other / "v2/a", Names(100)), 0U);
  EXPECT_EQ(WrongFiles(other / "v2/a", List(other / "v2/a")), 0U);
  EXPECT_EQ(Figure(other, "zarrfs_read_ahead_files_total"), 0U) << "nobody else could answer";
}

TEST_F(PrefetchTest, ManyReadersOfTheSameFiles) {
  const TestMount mount(store_, "threads=2");
  const auto names = List(mount / "v2/a");
  std::vector<size_t> wrong(8);
  std::vector<std::thread> readers;
  for (size_t& mine : wrong) {
    readers.emplace_back([&] { mine = WrongFiles(mount / "v2/a", names); });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, std::vector<size_t>(8));
}

TEST_F(PrefetchTest, AfterAChangeOnlyTheNewBytesAreRead) {
  const TestMount mount(store_);
  const auto names = List(mount / "v2/a");
  const std::vector<std::string> first(names.begin(), names.begin() + 100);
  EXPECT_EQ(WrongFiles(mount / "v2/a", first), 0U);
  ASSERT_EQ(Figure(mount, "zarrfs_read_ahead_files_total") > 0, MayPrefetch(mount));
  WriteShard(0, 7);
  // Names are invalidated within a second.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(WrongFiles(mount / "v2/a", names), 0U);
}

// A thread that prefetches may wait for the reply of another one. No thread may wait forever.
TEST_F(PrefetchTest, MountEndsWhileItsReadersReadOn) {
  for (int i = 0; i < 20; ++i) {
    TestMount mount(store_);
    const int array = open((mount / "v2/a").c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(array, 0);
    const auto names = i % 2 == 0 ? List(mount / "v2/a") : Names(content_.size());
    std::vector<std::thread> readers;
    for (int r = 0; r < 3; ++r) {
      readers.emplace_back([&] {
        std::array<char, 8192> buffer;
        for (const std::string& name : names) {
          const int file = openat(array, name.c_str(), O_RDONLY);
          if (file < 0) return;  // the mount has ended
          while (read(file, buffer.data(), buffer.size()) > 0) {
          }
          close(file);
        }
      });
    }
    mount.program().Signal(SIGTERM);
    EXPECT_TRUE(Eventually(Seconds(5), [&] {
      return mount.Log().find("busy") != std::string::npos;
    })) << mount.Log();
    mount.program().Signal(SIGTERM);
    EXPECT_EQ(mount.program().WaitFor(Seconds(5)), 0) << mount.Log();
    for (std::thread& reader : readers) reader.join();
    close(array);
  }
}

// A thread that waits while it prefetches does not end on a signal. The next worker answers it.
TEST_F(PrefetchTest, WorkerThatIsKilledOrCrashesLeavesNobodyWaiting) {
  for (int i = 0; i < 12; ++i) {
    const int signal_number = i % 2 == 0 ? SIGKILL : SIGSEGV;
    TestMount mount(store_);
    const fs::path array = mount / "v2/a";
    std::thread reader([&] {
      std::array<char, 8192> buffer;
      for (const auto& [name, content] : content_) {
        const int file = open((array / name).c_str(), O_RDONLY);
        ASSERT_GE(file, 0) << name << ": " << std::strerror(errno) << "\n" << mount.Log();
        std::string bytes;
        ssize_t more = 0;
        while ((more = read(file, buffer.data(), buffer.size())) > 0) {
          bytes.append(buffer.data(), static_cast<size_t>(more));
        }
        EXPECT_EQ(more, 0) << std::strerror(errno);
        EXPECT_EQ(bytes == content, true) << name;
        close(file);
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + i));
    kill(WorkerOf(mount.path()), signal_number);
    reader.join();
    // A killed worker that could not end at once has ended by now.
    EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mount.path()).size() == 2; }));
  }
}

}  // namespace
}  // namespace zarrfs::prefetch_test
