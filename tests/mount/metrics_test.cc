// The metrics in ".zarrfs/metrics".

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::metrics_test {
namespace {

namespace fs = std::filesystem;

// Values, by name and labels.
using Figures = std::map<std::string, double>;

// The current metrics. Waits first, because the mount caches their text for a tenth of a second.
Figures FiguresOf(const TestMount& mount) {
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  Figures figures;
  std::istringstream text(ReadFile(mount / ".zarrfs/metrics"));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with('#')) continue;
    const size_t space = line.rfind(' ');
    figures[line.substr(0, space)] = std::stod(line.substr(space + 1));
  }
  return figures;
}

// The increase of `name` from `before` to `after`.
double Moved(const Figures& before, const Figures& after, const std::string& name) {
  EXPECT_TRUE(before.contains(name)) << name;
  return after.at(name) - before.at(name);
}

std::string Requests(const std::string& operation, const std::string& result) {
  return "zarrfs_requests_total{operation=\"" + operation + "\",result=\"" + result + "\"}";
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class MetricsTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
};

TEST_F(MetricsTest, CountsMoveByWhatWasDone) {
  TestMount mount(store_, "immutable,threads=1");  // so nothing is prefetched
  EXPECT_TRUE(fs::exists(mount / "v2/a/.zarray"));
  const Figures before = FiguresOf(mount);
  for (const std::string name : {"x", "y", "0.3"}) EXPECT_FALSE(fs::exists(mount / "v2/a" / name));
  double bytes = 0;
  int files = 0;
  for (const auto& [name, content] : chunks_) {
    if (files == 5) break;
    EXPECT_EQ(ReadFile(mount / "v2/a" / name), content);
    bytes += static_cast<double>(content.size());
    ++files;
  }
  ASSERT_EQ(files, 5);
  const Figures after = FiguresOf(mount);
  EXPECT_EQ(Moved(before, after, Requests("lookup", "absent")), 3);
  EXPECT_EQ(Moved(before, after, Requests("lookup", "ok")), 5);
  EXPECT_EQ(Moved(before, after, Requests("read", "ok")), 5);
  EXPECT_EQ(Moved(before, after, Requests("read", "error")), 0);
  EXPECT_EQ(Moved(before, after, "zarrfs_read_bytes_total"), bytes);
  EXPECT_EQ(Moved(before, after, "zarrfs_store_errors_total"), 0);
  const Figures again = FiguresOf(mount);
  for (const auto& [name, value] : again) {
    if (name.find("other") != std::string::npos) continue;
    EXPECT_EQ(value, after.at(name)) << name << ": looking at the figures moves them";
  }
}

// Python calls isatty() for each file that it opens.
TEST_F(MetricsTest, QuestionForATerminalIsAnsweredAndCounted) {
  TestMount mount(store_, "immutable");
  const int file = open((mount / "v2/a/0.0").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const Figures before = FiguresOf(mount);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(isatty(file), 0);
    ASSERT_EQ(errno, ENOTTY);
  }
  const double moved = Moved(before, FiguresOf(mount), Requests("other", "ok"));
  EXPECT_GE(moved, 1000);
  EXPECT_LT(moved, 1100) << "looking at the figures takes a few";
  close(file);
}

TEST_F(MetricsTest, CachesAndStoreAreCounted) {
  TestMount mount(store_, "immutable,index_cache=8M,cache=16M");
  const Figures before = FiguresOf(mount);
  EXPECT_EQ(before.at("zarrfs_arrays"), 0);
  EXPECT_EQ(before.at("zarrfs_cache_limit_bytes{cache=\"index\"}"), 8 << 20);
  EXPECT_EQ(before.at("zarrfs_cache_limit_bytes{cache=\"chunk\"}"), 16 << 20);
  EXPECT_EQ(before.at("zarrfs_cache_bytes{cache=\"index\"}"), 0);
  // Three chunks of one shard: its index is read once, each chunk once.
  for (const std::string name : {"0.0", "0.1", "1.1"}) {
    EXPECT_EQ(ReadFile(mount / "v2/a" / name), chunks_.at(name));
  }
  const Figures after = FiguresOf(mount);
  EXPECT_EQ(after.at("zarrfs_arrays"), 1);
  EXPECT_EQ(Moved(before, after, "zarrfs_cache_misses_total{cache=\"index\"}"), 1);
  EXPECT_EQ(Moved(before, after, "zarrfs_cache_hits_total{cache=\"index\"}"), 5)
      << "each of three files is looked up and read";
  EXPECT_GT(after.at("zarrfs_cache_bytes{cache=\"index\"}"), 0);
  EXPECT_GE(Moved(before, after, "zarrfs_store_reads_total"), 4);
  const double bytes = static_cast<double>(chunks_.at("0.0").size() + chunks_.at("0.1").size() +
                                           chunks_.at("1.1").size());
  EXPECT_GE(Moved(before, after, "zarrfs_store_read_bytes_total"), bytes);
}

TEST_F(MetricsTest, ConcurrentReadersLoseNoCount) {
  TestMount mount(store_, "immutable");
  const Figures before = FiguresOf(mount);
  constexpr int kThreads = 8, kEach = 250;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        // A name that was never looked up, so the kernel must send a LOOKUP.
        const fs::path name = mount / "v2/a" / ("no-" + std::to_string(t * kEach + i));
        struct stat status {};
        EXPECT_NE(stat(name.c_str(), &status), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Moved(before, FiguresOf(mount), Requests("lookup", "absent")), kThreads * kEach);
}

TEST_F(MetricsTest, DurationsAreThoseOfTheRequests) {
  TestMount mount(store_, "immutable");
  for (const auto& [name, content] : chunks_) EXPECT_EQ(ReadFile(mount / "v2/a" / name), content);
  const Figures figures = FiguresOf(mount);
  for (const std::string operation : {"lookup", "read", "readdir"}) {
    const std::string labels = "operation=\"" + operation + "\"";
    const std::string name = "zarrfs_request_duration_seconds";
    const double count = figures.at(name + "_count{" + labels + "}");
    EXPECT_EQ(figures.at(name + "_bucket{" + labels + ",le=\"+Inf\"}"), count);
    EXPECT_LE(count, figures.at(Requests(operation, "ok")) +
                         figures.at(Requests(operation, "absent")) +
                         figures.at(Requests(operation, "error")));
    EXPECT_LT(figures.at(name + "_sum{" + labels + "}"), 60);
  }
  EXPECT_GT(figures.at("zarrfs_request_duration_seconds_count{operation=\"read\"}"), 0);
}

TEST_F(MetricsTest, DamagedShardIsCountedAndToldOnce) {
  Replace(store_ / "a/c/0/0", "no shard at all");
  TestMount mount(store_);
  const Figures before = FiguresOf(mount);
  EXPECT_EQ(before.at("zarrfs_damage_total"), 0);
  const fs::path chunk = mount / "v2/a/0.0";
  constexpr int kReads = 1000;
  for (int i = 0; i < kReads; ++i) {
    const int fd = open(chunk.c_str(), O_RDONLY);
    ASSERT_GE(fd, 0);
    char byte = 0;
    EXPECT_LT(pread(fd, &byte, 1, 0), 0);
    close(fd);
  }
  const Figures after = FiguresOf(mount);
  EXPECT_EQ(after.at("zarrfs_damage_total"), 1);
  EXPECT_GE(Moved(before, after, Requests("read", "error")), kReads);
  EXPECT_EQ(CountOf(mount.Log(), "a/c/0/0"), 1U) << mount.Log();
  EXPECT_EQ(CountOf(ReadFile(mount / ".zarrfs/errors"), "a/c/0/0"), 1U);
}

TEST_F(MetricsTest, ObjectThatTheStoreRefusesIsToldOnce) {
  fs::remove(store_ / "a/c/0/0");
  fs::create_symlink("/etc/passwd", store_ / "a/c/0/0");
  TestMount mount(store_);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LT(open((mount / "v2/a/0.0").c_str(), O_RDONLY | O_DIRECTORY), 0);
    const int fd = open((mount / "v2/a/0.0").c_str(), O_RDONLY);
    if (fd < 0) continue;
    char byte = 0;
    EXPECT_LT(pread(fd, &byte, 1, 0), 0);
    close(fd);
  }
  EXPECT_EQ(CountOf(mount.Log(), "a/c/0/0"), 1U) << mount.Log();
  EXPECT_GT(FiguresOf(mount).at("zarrfs_store_errors_total"), 0);
}

TEST_F(MetricsTest, OpenedFileIsReadToItsEndWhileOthersLook) {
  TestMount mount(store_);
  const int fd = open((mount / ".zarrfs/metrics").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  struct stat status {};
  ASSERT_EQ(fstat(fd, &status), 0);
  std::set<ino_t> inodes;
  while (inodes.size() < 20) {
    struct stat now {};
    ASSERT_EQ(stat((mount / ".zarrfs/metrics").c_str(), &now), 0);
    inodes.insert(now.st_ino);
    EXPECT_FALSE(ReadFile(mount / ".zarrfs/metrics").empty());
  }
  std::string text(static_cast<size_t>(status.st_size) + 1, '\0');
  EXPECT_EQ(read(fd, text.data(), text.size()), status.st_size);
  EXPECT_TRUE(text.starts_with("# HELP zarrfs_build_info"));
  close(fd);
}

}  // namespace
}  // namespace zarrfs::metrics_test
