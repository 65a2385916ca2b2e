// Many concurrent readers. What they read is compared with the shards, decoded by the test.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::concurrency_test {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kShards = 4;    // shards along each axis
constexpr uint64_t kPerShard = 5;  // chunks of a shard along each axis
constexpr uint64_t kChunks = kShards * kPerShard;
constexpr unsigned kSeed = 20240607;

// The chunks of the array by row and column, decoded from the shards on disk.
std::vector<std::vector<std::optional<std::string>>> ReadModel(const fs::path& array) {
  std::vector<std::vector<std::optional<std::string>>> model(
      kChunks, std::vector<std::optional<std::string>>(kChunks));
  for (uint64_t i = 0; i < kShards; ++i) {
    for (uint64_t j = 0; j < kShards; ++j) {
      const fs::path shard = array / "c" / std::to_string(i) / std::to_string(j);
      if (!fs::exists(shard)) continue;
      for (const auto& [slot, bytes] : DecodeShard(kPerShard * kPerShard, ReadFile(shard))) {
        model[i * kPerShard + slot / kPerShard][j * kPerShard + slot % kPerShard] = bytes;
      }
    }
  }
  return model;
}

TEST(ConcurrencyTest, SixteenThreadsReadWhatTheShardsHold) {
  const TemporaryFolder folder;
  const fs::path store = folder / "store.zarr";
  const SampleArray array{.shape = {kChunks * 10, kChunks * 10},
                          .shard = {kPerShard * 10, kPerShard * 10},
                          .chunk = {10, 10}};
  Replace(store / "zarr.json", GroupJson());
  Replace(store / "a/zarr.json", array.ZarrJson());
  std::mt19937 random(kSeed);
  for (uint64_t i = 0; i < kShards; ++i) {
    for (uint64_t j = 0; j < kShards; ++j) {
      if ((i + j) % 5 == 4) continue;  // some shards are absent
      Chunks chunks;
      for (uint64_t slot = 0; slot < kPerShard * kPerShard; ++slot) {
        if (random() % 4 == 0) continue;
        chunks[slot] = Pattern(1 + random() % (random() % 10 == 0 ? 300'000 : 5'000), random());
      }
      Replace(store / "a/c" / std::to_string(i) / std::to_string(j),
              EncodeShard(kPerShard * kPerShard, chunks));
    }
  }
  const auto model = ReadModel(store / "a");

  // Names expire at once, and few indexes are cached.
  const TestMount mount(store, "ttl=0,index_cache=4k");
  std::atomic<bool> stop = false;
  std::atomic<int> checked = 0;
  std::vector<std::string> complaints(16);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < complaints.size(); ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 mine(kSeed + t);
      constexpr size_t kPage = 4096;
      constexpr size_t kMax = 512 * 1024;
      const std::unique_ptr<char, decltype(&std::free)> buffer(
          static_cast<char*>(std::aligned_alloc(kPage, kMax)), &std::free);
      while (!stop && complaints[t].empty()) {
        const uint64_t row = mine() % kChunks;
        const uint64_t column = mine() % kChunks;
        const bool v2 = mine() % 2 == 0;
        // Half of the reads bypass the page cache.
        const bool direct = mine() % 2 == 0;
        const std::string name = std::to_string(row) + (v2 ? "." : "/") + std::to_string(column);
        const fs::path path = mount / (v2 ? "v2/a/" + name : "v3/a/c/" + name);
        const auto& expected = model[row][column];
        const auto complain = [&](const std::string& what) {
          complaints[t] = path.string() + ": " + what + " (" + std::strerror(errno) + ")";
        };
        const int fd = open(path.c_str(), direct ? O_RDONLY | O_DIRECT : O_RDONLY);
        if (fd < 0) {
          if (errno != ENOENT || expected) complain("cannot be opened");
        } else if (!expected) {
          complain("should not be there");
        } else {
          const size_t offset = mine() % (expected->size() + 10);
          const size_t length = mine() % kMax;
          const ssize_t have = pread(fd, buffer.get(), length, static_cast<off_t>(offset));
          const std::string wanted =
              offset < expected->size() ? expected->substr(offset, length) : "";
          if (have < 0) {
            complain("cannot be read");
          } else if (std::string(buffer.get(), static_cast<size_t>(have)) != wanted) {
            complain("other bytes, " + std::to_string(have) + " from " + std::to_string(offset));
          }
        }
        if (fd >= 0) close(fd);
        ++checked;
      }
    });
  }
  SleepFor(Seconds(3));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "") << "seed " << kSeed;
  EXPECT_GT(checked, 500);
}

}  // namespace
}  // namespace zarrfs::concurrency_test
