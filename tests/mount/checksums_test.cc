// The mount verifies the checksums that a view omits.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::checksums_test {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSmall = 6000;
constexpr size_t kLarge = size_t{5} << 20;

std::string Flipped(std::string bytes, size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 4);
  return bytes;
}

// The bytes read in steps up to the end or a failure, and the errno of the failure or 0.
struct ReadOut {
  std::string bytes;
  int error = 0;
};

ReadOut ReadInSteps(const fs::path& path, size_t step) {
  ReadOut out;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {"", errno};
  std::string piece(step, '\0');
  for (;;) {
    const ssize_t have = read(fd, piece.data(), piece.size());
    if (have < 0) out.error = errno;
    if (have <= 0) break;
    out.bytes.append(piece, 0, static_cast<size_t>(have));
  }
  close(fd);
  return out;
}

class ChecksumsTest : public testing::Test {
 protected:
  // Writes an array of raw chunks of `size` bytes in one shard. Each of `chunks` ends with its
  // checksum.
  void Write(const std::string& name, size_t size, const std::vector<std::string>& chunks) {
    const uint64_t count = chunks.size();
    const SampleArray array{.shape = {count * size},
                            .shard = {count * size},
                            .chunk = {size},
                            .compressed = false,
                            .checksums = true};
    Chunks stored;
    for (size_t i = 0; i < chunks.size(); ++i) stored[i] = chunks[i];
    Replace(store_ / name / "zarr.json", array.ZarrJson());
    Replace(store_ / name / "c/0", EncodeShard(count, stored));
  }

  const TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store";
  const std::map<std::string, std::string> sample_ = WriteSampleStore(store_);
  const std::string small_ = Pattern(kSmall, 1);
};

TEST_F(ChecksumsTest, DamageThatALeftOutChecksumRevealsIsAnError) {
  const std::string good = WithChecksum(small_);
  Write("b", kSmall, {good, Flipped(good, 21), Flipped(good, kSmall + 1)});
  const TestMount mount(store_);
  for (const std::string view : {"v2", "gdal", "java"}) {
    EXPECT_EQ(ReadFile(mount / (view + "/b/0")), small_) << view;
    for (const std::string chunk : {"1", "2"}) {
      for (const size_t step : {size_t{1} << 20, size_t{4096}, size_t{100}}) {
        EXPECT_EQ(ReadInSteps(mount / (view + "/b/" + chunk), step).error, EIO) << view;
      }
    }
  }
  EXPECT_EQ(ReadFile(mount / "v3/b/c/1"), Flipped(good, 21)) << "its readers check themselves";
  const std::string errors = ReadFile(mount / ".zarrfs/errors");
  EXPECT_NE(errors.find("b/c/0: crc32c checksum 0x"), errors.npos) << errors;
}

TEST_F(ChecksumsTest, LargeChunksAreCheckedBeforeTheirLastPart) {
  const std::string bytes = Pattern(kLarge, 2);
  const std::string good = WithChecksum(bytes);
  Write("b", kLarge, {good, Flipped(good, 21), Flipped(good, kLarge - 1)});
  const TestMount mount(store_);
  EXPECT_TRUE(ReadFile(mount / "v2/b/0") == bytes);
  for (const std::string chunk : {"1", "2"}) {
    for (int again = 0; again < 2; ++again) {
      const ReadOut out = ReadInSteps(mount / ("v2/b/" + chunk), 65536);
      EXPECT_EQ(out.error, EIO) << chunk;
      EXPECT_LT(out.bytes.size(), kLarge);
    }
  }
}

TEST_F(ChecksumsTest, MappedChunksAreChecked) {
  const std::string good = WithChecksum(small_);
  Write("b", kSmall, {good, Flipped(good, 21)});
  const TestMount mount(store_);
  for (const bool is_good : {true, false}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      signal(SIGBUS, SIG_DFL);
      const int fd = open((mount / (is_good ? "v2/b/0" : "v2/b/1")).c_str(), O_RDONLY | O_CLOEXEC);
      const void* map = mmap(nullptr, kSmall, PROT_READ, MAP_SHARED, fd, 0);
      if (fd < 0 || map == MAP_FAILED) _exit(1);
      const auto* const at = static_cast<const volatile char*>(map);
      for (size_t i = 0; i < kSmall; i += 4096) static_cast<void>(at[i]);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WIFEXITED(status) && WEXITSTATUS(status) == 0, is_good) << status;
    EXPECT_EQ(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, !is_good) << status;
  }
}

TEST_F(ChecksumsTest, PrefetchedChunksAreChecked) {
  const std::string good = WithChecksum(small_);
  std::vector<std::string> chunks(200, good);
  for (size_t i = 30; i < chunks.size(); i += 10) chunks[i] = Flipped(good, 5000);
  Write("b", kSmall, chunks);
  const TestMount mount(store_);
  for (size_t i = 0; i < chunks.size(); ++i) {
    const ReadOut out = ReadInSteps(mount / ("v2/b/" + std::to_string(i)), size_t{1} << 20);
    EXPECT_EQ(out.error, chunks[i] == good ? 0 : EIO) << i;
    if (out.error == 0) {
      EXPECT_EQ(out.bytes, small_) << i;
    }
  }
}

TEST_F(ChecksumsTest, AShardIsCheckedWhenAChunkOfItIsRead) {
  SampleArray array = SampleArrayOfStore();
  std::string json = array.ZarrJson();
  const std::string end = R"("index_location": "end"}})";
  const size_t at = json.rfind(end);
  ASSERT_NE(at, json.npos);
  json.insert(at + end.size(), R"(, {"name": "crc32c"})");
  Replace(store_ / "b/zarr.json", json);
  const std::string shard = WithChecksum(EncodeShard(4, {{0, "zero"}, {1, "one"}}));
  Replace(store_ / "b/c/0/0", shard);
  Replace(store_ / "b/c/0/1", Flipped(shard, 2));
  const TestMount mount(store_);
  for (const std::string view : {"v2/b/", "v3/b/c/"}) {
    const auto name = [&](const std::string& row, const std::string& column) {
      return mount / (view + row + (view == "v2/b/" ? "." : "/") + column);
    };
    EXPECT_EQ(ReadFile(name("0", "0")), "zero");
    struct stat info {};
    EXPECT_EQ(stat(name("0", "3").c_str(), &info), 0);
    EXPECT_EQ(info.st_size, 3);
    EXPECT_EQ(ReadInSteps(name("0", "3"), 64).error, EIO) << "the whole shard is damaged";
    EXPECT_EQ(ReadInSteps(name("0", "2"), 64).error, EIO);
  }
  const std::string errors = ReadFile(mount / ".zarrfs/errors");
  EXPECT_NE(errors.find("b/c/0/1: checksum of the shard"), errors.npos) << errors;
}

}  // namespace
}  // namespace zarrfs::checksums_test
