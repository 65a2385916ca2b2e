#include "zarrcore/disk/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace zarrfs::disk_cache_test {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<std::byte>;

constexpr std::string_view kObject = "https://host/store/c/0";

Bytes BytesAt(uint64_t begin, size_t length) {
  Bytes bytes(length);
  for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>((begin + i) * 131 >> 3);
  return bytes;
}

Version VersionOf(std::string etag, uint64_t size = 1u << 20) {
  return {.size = size, .mtime_ns = 7'000'000'000, .etag = std::move(etag)};
}

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() {
    std::string pattern = fs::temp_directory_path() / "disk_cache_XXXXXX";
    top_ = mkdtemp(pattern.data());
    folder_ = top_ / "cache";
    cache_ = Open();
  }
  ~DiskCacheTest() override { fs::remove_all(top_); }

  [[nodiscard]] std::unique_ptr<DiskCache> Open(uint64_t capacity = 64u << 20) const {
    auto cache = DiskCache::Open(folder_, capacity);
    EXPECT_TRUE(cache) << cache.error().message;
    return *std::move(cache);
  }
  void Write(const Version& version, uint64_t begin, size_t length) {
    cache_->Write(kObject, version, begin, BytesAt(begin, length));
  }
  // True if the range is cached. The test fails if the bytes are wrong.
  static bool Has(DiskCache& cache, const Version& version, uint64_t begin, size_t length,
                  std::string_view object = kObject) {
    Bytes bytes(length);
    if (!cache.Read(object, version, begin, bytes)) return false;
    EXPECT_EQ(bytes, BytesAt(begin, length));
    return true;
  }
  [[nodiscard]] std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (entry.is_regular_file() && name != "taken" && name != "CACHEDIR.TAG") {
        files.push_back(entry);
      }
    }
    return files;
  }
  [[nodiscard]] uint64_t BytesOfFiles() const {
    uint64_t bytes = 0;
    for (const auto& file : Files()) bytes += DiskSpace::BlocksOf(fs::file_size(file));
    return bytes;
  }

  fs::path top_;
  fs::path folder_;
  std::unique_ptr<DiskCache> cache_;
  const Version version_ = VersionOf("\"a\"");
};

TEST_F(DiskCacheTest, ReadsAnyPartOfTheWrittenRange) {
  Write(version_, 1000, 200'000);
  for (const auto& [begin, length] : std::vector<std::pair<uint64_t, size_t>>{{1000, 200'000},
                                                                              {1000, 1},
                                                                              {200'999, 1},
                                                                              {66'535, 2},
                                                                              {66'536, 65'536},
                                                                              {5000, 150'000}}) {
    EXPECT_TRUE(Has(*cache_, version_, begin, length)) << begin << '+' << length;
  }
  EXPECT_FALSE(Has(*cache_, version_, 999, 2));
  EXPECT_FALSE(Has(*cache_, version_, 200'999, 2));
  EXPECT_FALSE(Has(*cache_, version_, 1000, 10, "https://host/store/c/1"));
}

// Files and folders of other programs, in all folders that the cache searches.
class ForeignFilesTest : public DiskCacheTest {
 protected:
  void Put(const std::string& name, size_t bytes = 2 << 20) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << std::string(bytes, 'x');
    fs::last_write_time(folder_ / name,
                        fs::file_time_type::clock::now() - std::chrono::hours(9000));
    foreign_.push_back(folder_ / name);
  }
  void ExpectForeignFiles() const {
    for (const fs::path& file : foreign_) {
      EXPECT_TRUE(fs::exists(fs::symlink_status(file))) << file;
    }
  }
  std::vector<fs::path> foreign_;
};

TEST_F(ForeignFilesTest, AreNeverRemoved) {
  Write(version_, 0, 1000);
  const fs::path own = Files().at(0);
  Put("project/run1/result.nc");
  Put("ab/run1/result.nc");
  Put("ab/0123456789abcdef0123456789abcd/result.nc");
  Put("ab/0123456789abcdef0123456789abcd/0123456789abcdef-0-10-2");  // an end beyond the size
  Put("ab/0123456789abcdef0123456789abcd/0123456789ABCDEF-0-1-2");
  Put("ab/0123456789abcdef0123456789abcd/0123456789abcdef-0-1-2.nc");
  Put("new/result.nc");
  Put("new/project/result.nc");
  for (const char* const folder : {"old/empty", "ab/empty", "new/empty"}) {
    fs::create_directories(folder_ / folder);
    foreign_.push_back(folder_ / folder);
  }
  // Symbolic links with names that the cache uses.
  Put("elsewhere/result.nc");
  const fs::path link = own.parent_path() / "0123456789abcdef-0-1-2";
  fs::create_symlink(folder_ / "elsewhere/result.nc", link);
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "cd");
  fs::create_symlink(folder_ / "elsewhere/result.nc", folder_ / "new/0123456789abcdef");
  foreign_.insert(foreign_.end(), {link, folder_ / "cd", folder_ / "new/0123456789abcdef"});
  fs::last_write_time(own, fs::file_time_type::clock::now() - std::chrono::hours(9000));

  // Without the file "taken", the first write counts all files. There is no space for a second one.
  fs::remove(folder_ / "taken");
  const auto small = Open(DiskSpace::BlocksOf(3000));
  for (uint64_t i = 0; i < 4; ++i) {
    small->Write("https://host/store/c/" + std::to_string(i + 1), version_, 0, BytesAt(0, 2000));
  }
  EXPECT_FALSE(fs::exists(own)) << "the cache's own";
  ExpectForeignFiles();
}

TEST_F(ForeignFilesTest, AFolderThatHasThemIsRefused) {
  const auto why_not = [](const fs::path& folder) {
    const auto claimed = PrepareCacheFolder(folder);
    return claimed ? "" : claimed.error().message;
  };
  const auto make = [&](const std::string& name) {
    fs::create_directory(top_ / name);
    fs::permissions(top_ / name, fs::perms::owner_all);
    return top_ / name;
  };
  const fs::path scratch = make("scratch");
  std::ofstream(scratch / "result.nc") << "x";
  EXPECT_EQ(why_not(scratch),
            fmt::format("disk_cache={0}: this folder has other files ('result.nc'): choose another "
                        "folder, for example disk_cache={0}/zarrfs",
                        scratch.string()));
  EXPECT_FALSE(fs::exists(scratch / "CACHEDIR.TAG"));
  EXPECT_EQ(why_not(scratch / "zarrfs"), "");
  EXPECT_EQ(why_not(scratch / "zarrfs/"), "") << "again";

  const fs::path others = make("others");
  std::ofstream(others / "CACHEDIR.TAG") << "Signature: 8a477f597d28d172789f06886806bc55\n";
  EXPECT_NE(why_not(others).find("'CACHEDIR.TAG'"), std::string::npos) << "of another program";

  // The cache of an older zarrfs, which did not mark the folder, at the root of a file system.
  const fs::path before = make("before");
  for (const char* const name : {"ab", "new", "lost+found", ".snapshot"}) {
    fs::create_directory(before / name);
  }
  std::ofstream(before / "taken") << "12345678";
  EXPECT_EQ(why_not(before), "");
  EXPECT_TRUE(fs::exists(before / "CACHEDIR.TAG"));
  std::ofstream(before / "result.nc") << "x";
  EXPECT_EQ(why_not(before), "") << "it is marked by now";

  fs::create_directory_symlink(before, top_ / "link");
  EXPECT_NE(why_not(top_ / "link").find("symbolic link"), std::string::npos);
  EXPECT_NE(why_not(top_ / "link/").find("symbolic link"), std::string::npos);
}

TEST_F(DiskCacheTest, PutsRangesTogetherUnlessOneIsMissing) {
  Write(version_, 0, 100'000);
  Write(version_, 150'000, 50'000);
  EXPECT_FALSE(Has(*cache_, version_, 0, 200'000));
  Write(version_, 90'000, 70'000);
  EXPECT_TRUE(Has(*cache_, version_, 0, 200'000));
  EXPECT_TRUE(Has(*cache_, version_, 95'000, 60'000));
}

TEST_F(DiskCacheTest, AnotherCacheInTheFolderSeesIt) {
  const auto other = Open();
  EXPECT_FALSE(Has(*other, version_, 0, 1000));
  Write(version_, 0, 1000);
  EXPECT_TRUE(Has(*Open(), version_, 0, 1000));
  // A cache with a cached listing lists the folder again after a second.
  for (int tries = 0; tries < 600 && !Has(*other, version_, 0, 1000); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(Has(*other, version_, 0, 1000));
}

TEST_F(DiskCacheTest, AnotherVersionIsAMissAndReplacesTheOneBefore) {
  Write(version_, 0, 1000);
  std::vector<Version> others(3, version_);
  others[0].etag = "\"b\"";
  others[1].mtime_ns += 1'000'000'000;
  others[2].size += 1;
  for (const Version& other : others) EXPECT_FALSE(Has(*cache_, other, 0, 1000));
  Write(others[0], 0, 1000);
  EXPECT_FALSE(Has(*cache_, version_, 0, 1000));
  EXPECT_TRUE(Has(*cache_, others[0], 0, 1000));
  EXPECT_EQ(Files().size(), 1U);
}

TEST_F(DiskCacheTest, FindsTheVersionOfARange) {
  Write(version_, (1u << 20) - 5000, 5000);
  const auto found = cache_->Find(kObject, ByteRange::Suffix(5000));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->etag, version_.etag);
  EXPECT_EQ(found->size, version_.size);
  EXPECT_EQ(found->mtime_ns, version_.mtime_ns);
  EXPECT_FALSE(cache_->Find(kObject, ByteRange::Suffix(5001)));
  EXPECT_TRUE(cache_->Find(kObject, ByteRange::At((1u << 20) - 10, 1000))) << "it is clipped";
  EXPECT_FALSE(cache_->Find(kObject, ByteRange::At(1u << 20, 10)));
}

TEST_F(DiskCacheTest, ATornFileIsAMissAndIsRemoved) {
  Write(version_, 0, 100'000);
  const auto whole = fs::file_size(Files().at(0));
  for (const uint64_t left : {uint64_t{0}, uint64_t{10}, uint64_t{64}, uint64_t{200}, whole - 1}) {
    fs::resize_file(Files().at(0), left);
    EXPECT_FALSE(Has(*cache_, version_, 0, 10)) << left;
    EXPECT_TRUE(Files().empty()) << left;
    Write(version_, 0, 100'000);
  }
  fs::resize_file(Files().at(0), whole + 1);
  EXPECT_FALSE(Has(*cache_, version_, 0, 10));
}

TEST_F(DiskCacheTest, AFlippedBitIsAMissWhereverItIs) {
  Write(version_, 0, 100'000);
  const auto size = fs::file_size(Files().at(0));
  for (uint64_t at = 0; at < size; at += at < 200 ? 1 : 9973) {
    {
      std::fstream file(Files().at(0), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const char byte = static_cast<char>(file.get() ^ 0x10);
      file.seekp(static_cast<std::streamoff>(at));
      file.put(byte);
    }
    EXPECT_FALSE(Has(*cache_, version_, 0, 100'000)) << at;
    EXPECT_TRUE(Files().empty()) << at;
    Write(version_, 0, 100'000);
  }
}

TEST_F(DiskCacheTest, AFileInThePlaceOfAnotherIsAMiss) {
  Write(version_, 0, 1000);
  const fs::path name = Files().at(0);
  fs::rename(name, top_ / "kept");
  const Version other = VersionOf("\"b\"");
  Write(other, 0, 1000);
  fs::rename(top_ / "kept", Files().at(0));
  EXPECT_FALSE(Has(*Open(), other, 0, 1000));
}

TEST_F(DiskCacheTest, StaysWithinItsSizeAndEvictsTheLeastRecentlyUsed) {
  const uint64_t capacity = 1u << 20;
  cache_ = Open(capacity);
  const Version large = VersionOf("\"a\"", 1u << 30);
  const auto second = Open(capacity);
  for (uint64_t i = 0; i < 100; ++i) {
    DiskCache& one = i % 2 == 0 ? *cache_ : *second;
    one.Write(fmt::format("{}{}", kObject, i), large, i * 50'000, BytesAt(i * 50'000, 50'000));
    EXPECT_LE(BytesOfFiles(), capacity);
    for (const auto& file : Files()) {  // makes all files an hour older
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
    }
    if (i > 0) Has(*cache_, large, 0, 50'000, fmt::format("{}0", kObject));
  }
  EXPECT_GT(BytesOfFiles(), capacity / 2);
  EXPECT_TRUE(Has(*cache_, large, 99 * 50'000, 50'000, fmt::format("{}99", kObject)));
  EXPECT_TRUE(Has(*cache_, large, 0, 50'000, fmt::format("{}0", kObject))) << "it was used";
  EXPECT_FALSE(Has(*cache_, large, 50'000, 50'000, fmt::format("{}1", kObject)));
}

TEST_F(DiskCacheTest, FilesOfAKilledProcessAreRemoved) {
  cache_ = Open(1u << 20);
  { std::ofstream(folder_ / "new/0123456789abcdef") << std::string(900'000, 'x'); }
  { std::ofstream(folder_ / "taken", std::ios::binary) << std::string(8, '\x7f'); }
  fs::last_write_time(folder_ / "new/0123456789abcdef",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  Write(version_, 0, 500'000);
  EXPECT_TRUE(Has(*cache_, version_, 0, 500'000));
  EXPECT_FALSE(fs::exists(folder_ / "new/0123456789abcdef"));
}

TEST_F(DiskCacheTest, AFullDiskCostsNothingButTheCache) {
  const fs::path disk = top_ / "disk";
  fs::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=4M") != 0) GTEST_SKIP() << "needs root";
  {
    auto cache = *DiskCache::Open(disk / "cache", 1u << 30);
    const Version large = VersionOf("\"a\"", 1u << 30);
    for (uint64_t i = 0; i < 40; ++i) {
      cache->Write(kObject, large, i << 18, BytesAt(i << 18, 1u << 18));
      EXPECT_GE(fs::space(disk).available, 300'000U) << "a tenth stays free";
    }
    EXPECT_TRUE(Has(*cache, large, 39 << 18, 1u << 18)) << "others go";
    fs::remove_all(disk / "cache");
    { std::ofstream(disk / "others") << std::string(8 << 20, 'x'); }
    cache = *DiskCache::Open(disk / "cache", 1u << 30);
    cache->Write(kObject, large, 0, BytesAt(0, 1u << 20));
    EXPECT_FALSE(Has(*cache, large, 0, 1u << 20));
  }
  umount2(disk.c_str(), MNT_DETACH);
}

TEST_F(DiskCacheTest, ADiskThatFailsIsAMissAndTakesNothing) {
  Write(version_, 0, 1000);
  const fs::path file = Files().at(0);
  fs::remove(file);
  fs::create_directory(file);  // can neither be read nor removed like a file
  EXPECT_FALSE(Has(*cache_, version_, 0, 1000));
  Write(version_, 0, 1000);
  EXPECT_FALSE(Has(*cache_, version_, 0, 1000));
  fs::remove_all(file);
  Write(version_, 0, 1000);
  EXPECT_TRUE(Has(*cache_, version_, 0, 1000));

  for (const fs::path& name : {folder_ / "new", folder_ / "taken"}) {
    fs::remove_all(name);
    if (name.filename() == "new") {
      std::ofstream(name) << 'x';
    } else {
      fs::create_directory(name);
    }
    Write(version_, 2000, 1000);
    EXPECT_FALSE(Has(*cache_, version_, 2000, 1000)) << name;
    EXPECT_TRUE(Has(*cache_, version_, 0, 1000)) << name;
    fs::remove_all(name);
    fs::create_directory(folder_ / "new");
  }
  Write(version_, 2000, 1000);
  EXPECT_TRUE(Has(*cache_, version_, 2000, 1000));
}

TEST_F(DiskCacheTest, ManyReadersAndWritersSeeOnlyWrittenBytes) {
  const auto second = Open(2u << 20);
  cache_ = Open(2u << 20);
  const Version large = VersionOf("\"a\"", 1u << 30);
  std::vector<std::thread> threads;
  for (unsigned of = 0; of < 4; ++of) {
    threads.emplace_back([&, of] {
      DiskCache& cache = of % 2 == 0 ? *cache_ : *second;
      for (unsigned i = 0; i < 60; ++i) {
        const uint64_t begin = (i * 7 + of) % 20 * 30'000;
        cache.Write(kObject, large, begin, BytesAt(begin, 40'000));
        Has(cache, large, begin + 10'000, 25'000);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(BytesOfFiles(), 2u << 20);
}

TEST_F(DiskCacheTest, AFolderThatOthersMayEnterOrOwnIsRefused) {
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all) << "as it was made";
  chmod(folder_.c_str(), 0750);
  const auto open = PrepareCacheFolder(folder_);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message, fmt::format("disk_cache={}: others may enter this folder: chmod "
                                              "700 it, or choose one that does not exist yet",
                                              folder_.string()));
  EXPECT_FALSE(DiskCache::Open(folder_, 1u << 20));
  chmod(folder_.c_str(), 0700);
  EXPECT_TRUE(PrepareCacheFolder(folder_));
  EXPECT_EQ(PrepareCacheFolder(top_ / "no/cache").error().code, ErrorCode::kNotFound);
  if (chown(folder_.c_str(), 4711, 4711) != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(
      PrepareCacheFolder(folder_).error().message,
      fmt::format(
          "disk_cache={}: this folder belongs to another user (uid 4711): choose one of your own",
          folder_.string()));
}

}  // namespace
}  // namespace zarrfs::disk_cache_test
