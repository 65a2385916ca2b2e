// Files that were read once are read again without lookups, regardless of changes elsewhere.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::warm_test {
namespace {

namespace fs = std::filesystem;

class WarmTest : public testing::Test {
 protected:
  static constexpr uint64_t kSide = 32;  // chunks of "a" along each axis

  WarmTest() {
    Replace(store_ / "zarr.json", GroupJson());
    Replace(store_ / "a/zarr.json", a_.ZarrJson());
    Replace(store_ / "a/c/0/0", Shard(1));
    Replace(store_ / "b/zarr.json", b_.ZarrJson());
    Replace(store_ / "b/c/0/0/0", ManyChunks(1));
    WriteRows(2);
    SleepFor(Seconds(0.1));  // racy versions are looked up again
    mount_ = std::make_unique<TestMount>(store_);
    for (const std::string view : {"v2", "v3"}) {
      ReadAllOf(view);
      SleepFor(Seconds(1.2));  // files read before the store was watched are read again
      ReadAllOf(view);
      EXPECT_EQ(ReadFile(*mount_ / (view == "v2" ? "v2/b/0.0.0" : "v3/b/c/0/0/0")), "1");
    }
  }

  static std::string Shard(uint64_t seed) {
    Chunks chunks;
    for (uint64_t slot = 0; slot < kSide * kSide; ++slot) chunks[slot] = Content(slot, seed);
    return EncodeShard(kSide * kSide, chunks);
  }
  static std::string Content(uint64_t slot, uint64_t seed) {
    return Pattern(100 + slot % 50, seed << 32 | slot);
  }
  static std::string ManyChunks(uint64_t seed) {
    Chunks chunks;
    for (uint64_t slot = 0; slot < 32768; ++slot) chunks[slot] = std::to_string(seed);
    return EncodeShard(32768, chunks);
  }

  // Makes "t" an array of `rows` shards along axis 0, of two chunks each. Writes only the last
  // shard.
  void WriteRows(uint64_t rows) const {
    SampleArray array{.shape = {4 * rows, 2}, .shard = {4, 2}, .chunk = {2, 2}};
    Replace(store_ / "t/c" / std::to_string(rows - 1) / "0",
            EncodeShard(2, {{0, "first"}, {1, "second"}}));
    Replace(store_ / "t/zarr.json", array.ZarrJson());
  }

  void ReadAllOf(const std::string& view) const {
    for (uint64_t slot = 0; slot < kSide * kSide; ++slot) {
      const std::string row = std::to_string(slot / kSide);
      const std::string column = std::to_string(slot % kSide);
      const std::string name =
          view == "v2" ? "v2/a/" + row + "." + column : "v3/a/c/" + row + "/" + column;
      ASSERT_EQ(ReadFile(*mount_ / name), Content(slot, 1)) << name;
    }
  }

  // The number of LOOKUP requests so far. GETATTR is not counted, because the attributes of changed
  // folders are requested again.
  [[nodiscard]] uint64_t LookUps() const {
    SleepFor(Seconds(0.15));  // until the cached text has expired
    std::istringstream text(ReadFile(*mount_ / ".zarrfs/metrics"));
    uint64_t sum = 0;
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with("zarrfs_requests_total{operation=\"lookup\"")) continue;
      sum += std::stoull(line.substr(line.rfind(' ') + 1));
    }
    return sum;
  }

  // The number of lookups in a pass over all of "a" in both views.
  [[nodiscard]] uint64_t LookUpsOfAPass() const {
    SleepFor(Seconds(1.2));  // further changes are collected for a second
    const uint64_t before = LookUps();
    ReadAllOf("v2");
    ReadAllOf("v3");
    return LookUps() - before;
  }

  // True if the kernel keeps names until they are invalidated. Otherwise, they expire.
  [[nodiscard]] bool KeepsNames() const {
    const auto status = nlohmann::json::parse(ReadFile(*mount_ / ".zarrfs/status.json"));
    return status.at("changes").at("keeps_names").get<bool>();
  }

  static bool Is(const fs::path& file, const std::string& content) {
    return Eventually(Seconds(1.5), [&] { return ReadFile(file) == content; });
  }

  const TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store.zarr";
  const SampleArray a_{.shape = {64, 64}, .shard = {64, 64}, .chunk = {2, 2}};
  SampleArray b_{.shape = {64, 64, 64}, .shard = {64, 64, 64}, .chunk = {2, 2, 2}};
  std::unique_ptr<TestMount> mount_;
};

TEST_F(WarmTest, ChangesElsewhereCostNothing) {
  if (!KeepsNames()) return;
  EXPECT_EQ(LookUpsOfAPass(), 0U);
  fs::create_directory(store_ / "new");
  EXPECT_EQ(LookUpsOfAPass(), 0U) << "after mkdir in the root";
  b_.attributes = R"({"edited": true})";
  Replace(store_ / "b/zarr.json", b_.ZarrJson());
  EXPECT_TRUE(Eventually(Seconds(1.5), [&] {
    return ReadFile(*mount_ / "v2/b/.zattrs").find("edited") != std::string::npos;
  }));
  EXPECT_EQ(LookUpsOfAPass(), 0U) << "after an edit of another array";
  Replace(store_ / "new/zarr.json", a_.ZarrJson());
  EXPECT_TRUE(Eventually(Seconds(1.5), [&] { return fs::exists(*mount_ / "v2/new/.zarray"); }));
  fs::remove_all(store_ / "new");
  EXPECT_TRUE(Eventually(Seconds(1.5), [&] { return !fs::exists(*mount_ / "v2/new/.zarray"); }));
  EXPECT_EQ(LookUpsOfAPass(), 0U) << "after an array was added and removed";
}

TEST_F(WarmTest, AReplacedShardOfManyChunksCostsOnlyItsArray) {
  if (!KeepsNames()) return;
  Replace(store_ / "b/c/0/0/0", ManyChunks(2));
  EXPECT_TRUE(Is(*mount_ / "v2/b/0.0.0", "2"));
  EXPECT_TRUE(Is(*mount_ / "v2/b/31.31.31", "2"));
  EXPECT_TRUE(Is(*mount_ / "v3/b/c/0/0/0", "2"));
  EXPECT_EQ(LookUpsOfAPass(), 0U);
}

TEST_F(WarmTest, AnArrayThatGrowsStaysWarm) {
  const fs::path first = *mount_ / "v2/t/2.0";
  EXPECT_EQ(ReadFile(first), "first");
  EXPECT_FALSE(fs::exists(*mount_ / "v2/t/4.0"));
  struct stat old {};
  ASSERT_EQ(stat(first.c_str(), &old), 0);
  for (uint64_t rows = 3; rows < 40; ++rows) WriteRows(rows);
  EXPECT_TRUE(Is(*mount_ / "v2/t/77.0", "second"));
  EXPECT_EQ(ReadFile(*mount_ / "v3/t/c/4/0"), "first");
  struct stat after {};
  ASSERT_EQ(stat(first.c_str(), &after), 0);
  EXPECT_EQ(old.st_ino, after.st_ino);
  if (!KeepsNames()) return;
  SleepFor(Seconds(1.2));
  const uint64_t before = LookUps();
  WriteRows(40);
  SleepFor(Seconds(1.2));
  EXPECT_EQ(ReadFile(first), "first");
  EXPECT_EQ(LookUps(), before);
}

TEST_F(WarmTest, NamesInUseAreInvalidatedToo) {
  const int file = open((*mount_ / "v2/a/0.0").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  Replace(store_ / "a/c/0/0", Shard(2));
  EXPECT_TRUE(Is(*mount_ / "v2/a/0.0", Content(0, 2)));
  std::string held(Content(0, 1).size(), '\0');
  EXPECT_EQ(pread(file, held.data(), held.size(), 0), static_cast<ssize_t>(held.size()));
  EXPECT_EQ(held, Content(0, 1)) << "the version that was opened";
  close(file);
}

TEST_F(WarmTest, WorkingFoldersAreKept) {
  const fs::path home = fs::current_path();
  for (const std::string folder : {"v2/a", "v3/a/c/5"}) {
    fs::current_path(*mount_ / folder);
    Replace(store_ / "a/c/0/0", Shard(1));
    b_.attributes = R"({"edited": ")" + folder + R"("})";
    Replace(store_ / "b/zarr.json", b_.ZarrJson());
    WriteRows(3);
    EXPECT_TRUE(Eventually(Seconds(1.5), [&] {
      return ReadFile(*mount_ / "v2/b/.zattrs").find(folder) != std::string::npos;
    }));
    std::error_code error;
    EXPECT_EQ(fs::current_path(error), *mount_ / folder) << error.message();
    EXPECT_TRUE(fs::exists(folder == "v2/a" ? "5.0" : "0"));
    fs::current_path(home);
  }
}

// Each chunk has its own folder, as with the keys of Zarr v3.
TEST_F(WarmTest, SeventeenThousandFoldersStayWarm) {
  if (!KeepsNames()) return;
  constexpr uint64_t kFolders = 17'000;
  const SampleArray many{.shape = {kFolders, 1}, .shard = {1, 1}, .chunk = {1, 1}};
  const std::string shard = EncodeShard(1, {{0, "x"}});
  for (uint64_t i = 0; i < kFolders; ++i) {
    const fs::path folder = store_ / "many/c" / std::to_string(i);
    fs::create_directories(folder);
    std::ofstream(folder / "0") << shard;
  }
  Replace(store_ / "many/zarr.json", many.ZarrJson());
  SleepFor(Seconds(1.5));
  const auto look_at_all = [&] {
    struct stat info;
    for (uint64_t i = 0; i < kFolders; ++i) {
      ASSERT_EQ(stat((*mount_ / "v2/many" / (std::to_string(i) + ".0")).c_str(), &info), 0) << i;
    }
  };
  look_at_all();
  SleepFor(Seconds(1.2));
  const uint64_t before = LookUps();
  look_at_all();
  EXPECT_LT(LookUps() - before, 10U);
}

}  // namespace
}  // namespace zarrfs::warm_test
