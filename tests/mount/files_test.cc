// Files assembled from the chunks of whole arrays. An open file has one version.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::files_test {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kSoon{20};
constexpr size_t kRow = 1 << 16;
constexpr size_t kHeader = 128;

// Each chunk is one row. Each shard has two chunks.
const SampleArray kArray = {
    .shape = {6, kRow}, .shard = {2, kRow}, .chunk = {1, kRow}, .compressed = false};

std::set<std::string> ListFolder(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

class Opened {
 public:
  explicit Opened(const fs::path& path) : fd_(open(path.c_str(), O_RDONLY)) {
    EXPECT_GE(fd_, 0) << path << ": " << std::strerror(errno);
  }
  ~Opened() { close(fd_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  // One byte of a row, or the negative errno.
  [[nodiscard]] int ByteOf(size_t row, size_t at = 100) const {
    return ByteAt(kHeader + row * kRow + at);
  }
  [[nodiscard]] int FirstByte() const { return ByteAt(0); }
  [[nodiscard]] int ByteAt(size_t offset) const {
    unsigned char byte = 0;
    return pread(fd_, &byte, 1, static_cast<off_t>(offset)) == 1 ? byte : -errno;
  }
  // Fills `out`. False, with errno set, on failure.
  [[nodiscard]] bool ReadAt(size_t offset, std::string& out) const {
    for (size_t done = 0; done < out.size();) {
      const ssize_t read =
          pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (read <= 0) return false;
      done += static_cast<size_t>(read);
    }
    return true;
  }

 private:
  const int fd_;
};

class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    Replace(store_ / "zarr.json", GroupJson());
    for (const char* array : {"a", "b"}) {
      Replace(store_ / array / "zarr.json", kArray.ZarrJson());
      for (int shard = 0; shard < 3; ++shard) WriteShard(array, shard, 'a' + shard);
    }
    // Waits until the versions are no longer racy.
    SleepFor(Seconds(0.05));
  }

  void WriteShard(const std::string& array, int shard, int byte) const {
    const std::string row(kRow, static_cast<char>(byte));
    Replace(store_ / array / "c" / std::to_string(shard) / "0",
            EncodeShard(2, {{0, row}, {1, row}}));
  }

  static uint64_t InodeOf(const fs::path& path) {
    struct stat info = {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path << ": " << std::strerror(errno);
    return info.st_ino;
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
};

TEST_F(FilesTest, SizeIsExactAndEachRowIsThatOfItsChunk) {
  const TestMount mount(store_);
  const std::string file = ReadFile(mount / "npy/a.npy");
  EXPECT_EQ(file.size(), kHeader + 6 * kRow);
  EXPECT_EQ(fs::file_size(mount / "npy/a.npy"), file.size());
  for (size_t row = 0; row < 6; ++row) {
    EXPECT_EQ(file.substr(kHeader + row * kRow, kRow),
              std::string(kRow, static_cast<char>('a' + row / 2)));
  }
}

TEST_F(FilesTest, ListedOnlyWhereViewsNamesThem) {
  const TestMount mount(store_);
  const TestMount naming(store_, "views=v3:npy");
  EXPECT_FALSE(ListFolder(mount.path()).contains("npy"));
  EXPECT_TRUE(ListFolder(naming.path()).contains("npy"));
  EXPECT_EQ(ListFolder(mount / "npy"), (std::set<std::string>{"a.npy", "b.npy"}));
}

TEST_F(FilesTest, AChangeOfAShardIsAnotherFileAndTheOneThatWasOpenIsStale) {
  const TestMount mount(store_);
  const Opened before(mount / "npy/a.npy");
  const uint64_t inode = InodeOf(mount / "npy/a.npy");
  const uint64_t other = InodeOf(mount / "npy/b.npy");
  EXPECT_EQ(before.ByteOf(0), 'a');
  WriteShard("a", 0, 'x');
  EXPECT_TRUE(Eventually(kSoon, [&] { return Opened(mount / "npy/a.npy").ByteOf(0) == 'x'; }));
  EXPECT_NE(InodeOf(mount / "npy/a.npy"), inode);
  EXPECT_EQ(before.ByteOf(5), -ESTALE) << "a row that was not read yet, of a shard as it was";
  EXPECT_EQ(Opened(mount / "npy/a.npy").ByteOf(5), 'c');
  EXPECT_EQ(InodeOf(mount / "npy/b.npy"), other);
}

TEST_F(FilesTest, WhatWasNotReadWhenItsShardWasReplacedIsNeverMixedIn) {
  const TestMount mount(store_);
  for (int round = 0; round < 20; ++round) {
    std::optional<Opened> before;
    int first = 0;
    // A file opened while the mount notices the previous change is stale at once.
    ASSERT_TRUE(Eventually(kSoon, [&] {
      before.emplace(mount / "npy/a.npy");
      first = before->ByteOf(0);
      return first != -ESTALE;
    }));
    ASSERT_GT(first, 0);
    WriteShard("a", 0, 'A' + round);
    const int later = before->ByteOf(1, 60000);  // not in a page that was read with the first byte
    EXPECT_TRUE(later == first || later == -ESTALE) << first << " " << later;
  }
}

TEST_F(FilesTest, AChangeOfADocumentIsAnotherFile) {
  const TestMount mount(store_);
  const Opened before(mount / "npy/a.npy");
  SampleArray grown = kArray;
  grown.shape[0] = 8;
  Replace(store_ / "a/zarr.json", grown.ZarrJson());
  EXPECT_TRUE(
      Eventually(kSoon, [&] { return fs::file_size(mount / "npy/a.npy") == kHeader + 8 * kRow; }));
  EXPECT_EQ(before.ByteOf(0), -ESTALE);
  EXPECT_EQ(Opened(mount / "npy/a.npy").ByteOf(7), 0) << "a fill value";
}

TEST_F(FilesTest, AChangeOfOneOfItsArraysMakesAFileOfAGroupAnotherOne) {
  const TestMount mount(store_, "nc=5");
  // The file has a header, then `a`, then `b`, which has the same length.
  const auto at = [](int array, size_t row) {
    return 4096 + static_cast<size_t>(array) * 6 * kRow + row * kRow + 100;
  };
  const fs::path path = mount / "nc/sample.nc";
  const Opened before(path);
  const uint64_t inode = InodeOf(path);
  EXPECT_EQ(fs::file_size(path), 4096 + 2 * 6 * kRow);
  EXPECT_EQ(before.ByteAt(at(0, 0)), 'a');
  EXPECT_EQ(before.ByteAt(at(1, 0)), 'a');
  WriteShard("b", 2, 'x');
  EXPECT_TRUE(Eventually(kSoon, [&] { return Opened(path).ByteAt(at(1, 5)) == 'x'; }));
  EXPECT_NE(InodeOf(path), inode);
  EXPECT_EQ(before.ByteAt(at(1, 5)), -ESTALE);
  EXPECT_EQ(before.ByteAt(at(0, 5)), -ESTALE) << "of the array that has not changed";
  EXPECT_EQ(Opened(path).ByteAt(at(0, 5)), 'c');
}

TEST_F(FilesTest, ADamagedChunkGivesAnErrorForItsPagesOnly) {
  std::string shard = ReadFile(store_ / "a/c/1/0");
  shard[2 * kRow] = static_cast<char>(shard[2 * kRow] ^ 1);  // damages the index
  Replace(store_ / "a/c/1/0", shard);
  SleepFor(Seconds(0.05));
  const TestMount mount(store_);
  const Opened file(mount / "npy/a.npy");
  EXPECT_EQ(file.ByteOf(1), 'a');
  EXPECT_EQ(file.ByteOf(2), -EIO);
  EXPECT_EQ(file.ByteOf(3), -EIO);
  EXPECT_EQ(file.ByteOf(4, 5000), 'c');
  EXPECT_NE(ReadFile(mount / ".zarrfs/errors").find("a/c/1/0"), std::string::npos);
}

TEST_F(FilesTest, AnArrayThatIsGoneIsNotMadeOfFillValues) {
  const TestMount mount(store_);
  const Opened before(mount / "npy/a.npy");
  EXPECT_EQ(before.ByteOf(0), 'a');
  fs::remove_all(store_ / "a");
  EXPECT_LT(before.ByteOf(4), 0);
}

TEST_F(FilesTest, AShardThatIsDeletedDoesNotBecomeFillValuesOfAFileThatIsOpen) {
  const TestMount mount(store_);
  const Opened before(mount / "npy/a.npy");
  EXPECT_EQ(before.ByteOf(0), 'a');
  fs::remove(store_ / "a/c/2/0");
  EXPECT_EQ(before.ByteOf(4), -ESTALE);
  EXPECT_TRUE(Eventually(kSoon, [&] { return Opened(mount / "npy/a.npy").ByteOf(4) == 0; }));
}

TEST_F(FilesTest, AnArrayWhoseDocumentIsDamagedIsAFileThatCannotBeRead) {
  Replace(store_ / "a/zarr.json", "{");
  const TestMount mount(store_);
  EXPECT_TRUE(ListFolder(mount / "npy").contains("a.npy"));
  const int first = Opened(mount / "npy/a.npy").FirstByte();
  EXPECT_TRUE(first < 0 && first != -ENOENT) << first;
  EXPECT_EQ(Opened(mount / "npy/b.npy").ByteOf(0), 'a');
}

TEST_F(FilesTest, WhereChangesAreNotReportedTheNameLeadsToTheNewBytesOnceItHasExpired) {
  const TestMount mount(store_, "ttl=0.3");
  const Opened before(mount / "npy/a.npy");
  EXPECT_EQ(before.ByteOf(0), 'a');
  WriteShard("a", 0, 'x');
  EXPECT_TRUE(Eventually(kSoon, [&] { return Opened(mount / "npy/a.npy").ByteOf(0) == 'x'; }));
  EXPECT_EQ(before.ByteOf(5), 'c') << "nobody can tell whether it belongs to what was read before";
}

// Files that are read in order are assembled in windows. For this array, a window has 4 MiB, which
// are 32 rows of chunks; a shard has 8 of them.
class InOrderTest : public FilesTest {
 protected:
  static constexpr size_t kPiece = size_t{128} << 10;  // the size of a chunk, which is a row
  static constexpr size_t kRows = 80;

  InOrderTest() {
    const SampleArray array = {
        .shape = {kRows, kPiece}, .shard = {8, kPiece}, .chunk = {1, kPiece}, .compressed = false};
    Replace(store_ / "rows/zarr.json", array.ZarrJson());
    for (size_t shard = 0; shard < kRows / 8; ++shard) WriteRows(shard, 0);
    SleepFor(Seconds(0.05));
  }

  void WriteRows(size_t shard, uint64_t seed) const {
    Chunks chunks;
    for (size_t row = 0; row < 8; ++row) chunks[row] = Row(8 * shard + row, seed);
    Replace(store_ / "rows/c" / std::to_string(shard) / "0", EncodeShard(8, chunks));
  }
  static std::string Row(size_t row, uint64_t seed = 0) {
    return Pattern(kPiece, 1000 * seed + row + 1);
  }

  // The bytes of a row; "", with errno set, if they cannot be read.
  static std::string ReadRow(const Opened& file, size_t row) {
    std::string read(kPiece, '\0');
    return file.ReadAt(kHeader + row * kPiece, read) ? read : "";
  }
};

TEST_F(InOrderTest, EveryByteIsThatOfItsChunk) {
  const TestMount mount(store_);
  const std::string file = ReadFile(mount / "npy/rows.npy");
  ASSERT_EQ(file.size(), kHeader + kRows * kPiece);
  for (size_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(file.compare(kHeader + row * kPiece, kPiece, Row(row)), 0) << row;
  }
}

TEST_F(InOrderTest, ADamagedChunkGivesAnErrorForItsPagesOnly) {
  // Damages one chunk in the part that the reader waits for, and one in the part that is assembled
  // ahead.
  for (const size_t damaged : {11, 43}) {
    Chunks chunks;
    for (size_t row = 0; row < 8; ++row) chunks[row] = Row(damaged / 8 * 8 + row);
    chunks[damaged % 8] = "short";
    Replace(store_ / "rows/c" / std::to_string(damaged / 8) / "0", EncodeShard(8, chunks));
  }
  SleepFor(Seconds(0.05));
  const TestMount mount(store_);
  const Opened file(mount / "npy/rows.npy");
  for (size_t row = 0; row < kRows; ++row) {
    // The pages at both ends also belong to other rows.
    const size_t at = 4096;
    std::string read(kPiece - 2 * at, '\0');
    const bool is_read = file.ReadAt(kHeader + row * kPiece + at, read);
    const bool is_damaged = row == 11 || row == 43;
    EXPECT_EQ(is_read ? 0 : errno, is_damaged ? EIO : 0) << row;
    EXPECT_TRUE(is_damaged || read == Row(row).substr(at, read.size())) << row;
  }
}

TEST_F(InOrderTest, WhatWasAssembledBeforeAChangeIsNotServedAfterIt) {
  const TestMount mount(store_);
  const Opened file(mount / "npy/rows.npy");
  for (size_t row = 0; row < 12; ++row) ASSERT_TRUE(ReadRow(file, row) == Row(row)) << row;
  WriteRows(2, 1);
  EXPECT_TRUE(
      Eventually(kSoon, [&] { return ReadRow(Opened(mount / "npy/rows.npy"), 20) == Row(20, 1); }));
  EXPECT_EQ(ReadRow(file, 28), "");
  EXPECT_EQ(errno, ESTALE);
}

TEST_F(InOrderTest, ChunksOfManyRowsThatTheCacheCannotHoldAreNotDecodedForEachRow) {
  // Eight chunks of 1 MiB side by side, each with 16 rows.
  const SampleArray array = {.shape = {16, 512, 1024},
                             .shard = {16, 512, 1024},
                             .chunk = {16, 64, 1024},
                             .compressed = false};
  constexpr size_t kChunk = size_t{1} << 20;
  Chunks chunks;
  for (size_t chunk = 0; chunk < 8; ++chunk) chunks[chunk] = Pattern(kChunk, chunk + 1);
  Replace(store_ / "wide/zarr.json", array.ZarrJson());
  Replace(store_ / "wide/c/0/0/0", EncodeShard(8, chunks));
  SleepFor(Seconds(0.05));
  const TestMount mount(store_, "cache=5M");
  const std::string file = ReadFile(mount / "npy/wide.npy");
  ASSERT_EQ(file.size(), kHeader + 8 * kChunk);
  constexpr size_t kPart = kChunk / 16;  // a chunk's part of a row
  for (size_t part = 0; part < 16 * 8; ++part) {
    EXPECT_EQ(file.compare(kHeader + part * kPart, kPart,
                           chunks[part % 8].substr(part / 8 * kPart, kPart)),
              0)
        << part;
  }
  const std::string metrics = ReadFile(mount / ".zarrfs/metrics");
  const std::string name = "\nzarrfs_store_read_bytes_total ";
  const size_t at = metrics.find(name);
  ASSERT_NE(at, metrics.npos);
  // The chunks are read for each of the first two rows, until the order is recognized, and then
  // twice.
  EXPECT_LT(std::stoull(metrics.substr(at + name.size())), 16 / 2 * 8 * kChunk);
}

}  // namespace
}  // namespace zarrfs::files_test
