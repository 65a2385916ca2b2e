// What a reader sees when the store changes under the mount.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs::change_test {
namespace {

namespace fs = std::filesystem;

const Seconds kSoon{30};

class ChangeTest : public testing::Test {
 protected:
  static bool Becomes(const fs::path& path, const std::string& bytes) {
    return Eventually(kSoon, [&] { return ReadFile(path) == bytes; });
  }
  static bool Vanishes(const fs::path& path) {
    return Eventually(kSoon, [&] { return !fs::exists(path); });
  }
  static bool Lists(const fs::path& path, const std::string& names) {
    return Eventually(kSoon, [&] { return Shell("ls " + path.string()).output == names; });
  }

  static uint64_t InodeOf(const fs::path& path) {
    struct stat info = {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path << ": " << std::strerror(errno);
    return info.st_ino;
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
};

// The promises of every mount. The parameter is its options.
class EachMountTest : public ChangeTest, public testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(, EachMountTest, testing::Values("", "ttl=0.3"),
                         [](const testing::TestParamInfo<std::string>& options) {
                           return options.param.empty() ? "Default" : "Ttl";
                         });

// The bytes read up to the end of the file, or up to an error.
struct ReadOutcome {
  std::string bytes;
  int error = 0;
};
ReadOutcome ReadFrom(int fd, off_t offset) {
  ReadOutcome outcome;
  std::vector<char> part(65536);
  for (;;) {
    const ssize_t have =
        pread(fd, part.data(), part.size(), offset + static_cast<off_t>(outcome.bytes.size()));
    if (have < 0) outcome.error = errno;
    if (have <= 0) return outcome;
    outcome.bytes.append(part.data(), static_cast<size_t>(have));
  }
}

TEST_P(EachMountTest, ReplacedShardGivesNewInodesWithNewBytes) {
  const TestMount mount(store_, GetParam());
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
  EXPECT_EQ(ReadFile(mount / "v3/a/c/0/1"), chunks_.at("0.1"));
  const uint64_t before = InodeOf(mount / "v2/a/0.1");
  const uint64_t other_shard = InodeOf(mount / "v2/a/2.1");
  Replace(store_ / "a/c/0/0", EncodeShard(4, {{1, "another chunk"}, {2, "new"}}));
  EXPECT_TRUE(Becomes(mount / "v2/a/0.1", "another chunk"));
  EXPECT_TRUE(Becomes(mount / "v3/a/c/0/1", "another chunk"));
  EXPECT_NE(InodeOf(mount / "v2/a/0.1"), before);
  EXPECT_EQ(InodeOf(mount / "v2/a/0.1"), InodeOf(mount / "v3/a/c/0/1"));
  EXPECT_TRUE(Becomes(mount / "v2/a/1.0", "new"));
  EXPECT_TRUE(Vanishes(mount / "v2/a/0.0")) << "the new shard does not have it";
  EXPECT_EQ(InodeOf(mount / "v2/a/2.1"), other_shard);
}

TEST_P(EachMountTest, OpenFileOfAReplacedShardGivesOldBytesOrStale) {
  const std::string old_bytes = Pattern(3 << 20, 100);
  Replace(store_ / "a/c/0/0", EncodeShard(4, {{0, old_bytes}}));
  const TestMount mount(store_, GetParam());
  const int fd = open((mount / "v2/a/0.0").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  std::string first(4096, '\0');
  ASSERT_EQ(pread(fd, first.data(), first.size(), 0), 4096);
  EXPECT_EQ(first, old_bytes.substr(0, 4096));
  Replace(store_ / "a/c/0/0", EncodeShard(4, {{0, Pattern(3 << 20, 200)}}));
  for (int round = 0; round < 2; ++round) {
    const ReadOutcome rest = ReadFrom(fd, 2 << 20);
    EXPECT_EQ(rest.bytes, old_bytes.substr(2 << 20, rest.bytes.size()));
    EXPECT_TRUE(rest.error == ESTALE || rest.bytes.size() == 1 << 20) << rest.error;
    EXPECT_TRUE(Becomes(mount / "v2/a/0.0", Pattern(3 << 20, 200)));
  }
  close(fd);
}

TEST_P(EachMountTest, OpenFileOfAShardRewrittenInPlaceIsStale) {
  const std::string old_bytes = Pattern(3 << 20, 100);
  const std::string new_bytes = Pattern(3 << 20, 200);
  Replace(store_ / "a/c/0/0", EncodeShard(4, {{0, old_bytes}}));
  const TestMount mount(store_, GetParam());
  const int fd = open((mount / "v2/a/0.0").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  std::string first(4096, '\0');
  ASSERT_EQ(pread(fd, first.data(), first.size(), 0), 4096);
  RewriteInPlace(store_ / "a/c/0/0", EncodeShard(4, {{0, new_bytes}}));
  const ReadOutcome rest = ReadFrom(fd, 2 << 20);
  EXPECT_EQ(rest.error, ESTALE);
  EXPECT_EQ(rest.bytes, "");
  EXPECT_TRUE(Becomes(mount / "v2/a/0.0", new_bytes));
  EXPECT_EQ(ReadFrom(fd, 2 << 20).error, ESTALE) << "an inode never changes its content";
  close(fd);
}

TEST_F(ChangeTest, WithOpenMessagesEachOpenSeesTheStoreAsItIs) {
  const TestMount mount(store_, "ttl=60,open=message");
  const auto attributes = store_ / "a/zarr.json";
  for (int round = 0; round < 5; ++round) {
    const std::string bytes = "chunk of round " + std::to_string(round);
    Replace(store_ / "a/c/0/0", EncodeShard(4, {{1, bytes}}));
    EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), bytes);
    SampleArray array = SampleArrayOfStore();
    array.attributes = R"({"round": )" + std::to_string(round) + "}";
    Replace(attributes, array.ZarrJson());
    EXPECT_NE(ReadFile(mount / "v2/a/.zattrs").find("\"round\": " + std::to_string(round)),
              std::string::npos);
  }
}

TEST_P(EachMountTest, ReadersOfAShardThatIsReplacedAllTheTimeNeverSeeAMixture) {
  // Each version of the chunk is one repeated letter, with a different length.
  const auto version = [](int number) {
    return std::string(200'000 + static_cast<size_t>(number % 7) * 1000,
                       static_cast<char>('a' + number % 7));
  };
  Replace(store_ / "a/c/0/0", EncodeShard(4, {{2, version(0)}}));
  const TestMount mount(store_, GetParam().empty() ? "" : "ttl=0.01");
  std::atomic<bool> stop = false;
  std::atomic<int> whole = 0;
  std::atomic<int> stale = 0;
  std::vector<std::string> wrong(4);
  std::vector<std::thread> readers;
  for (std::string& complaint : wrong) {
    readers.emplace_back([&] {
      while (!stop && complaint.empty()) {
        const int fd = open((mount / "v2/a/1.0").c_str(), O_RDONLY);
        if (fd < 0) {
          if (errno != ESTALE) complaint = std::strerror(errno);
          continue;
        }
        const ReadOutcome outcome = ReadFrom(fd, 0);
        close(fd);
        const std::string& bytes = outcome.bytes;
        if (outcome.error == ESTALE) {
          ++stale;
        } else if (outcome.error != 0) {
          complaint = std::strerror(outcome.error);
        } else if (bytes.empty() || bytes != version(bytes[0] - 'a')) {
          complaint = "a mixture of " + std::to_string(bytes.size()) + " bytes";
        } else {
          ++whole;
        }
        if (!bytes.empty() && bytes != std::string(bytes.size(), bytes[0])) complaint = "a mixture";
      }
    });
  }
  for (int number = 1; number < 150; ++number) {
    Replace(store_ / "a/c/0/0", EncodeShard(4, {{0, std::string(static_cast<size_t>(number), '-')},
                                                {2, version(number)}}));
    SleepFor(Seconds(0.01));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  for (const std::string& complaint : wrong) EXPECT_EQ(complaint, "");
  EXPECT_GT(whole, 10);
}

TEST_P(EachMountTest, MissingChunkAppears) {
  const TestMount mount(store_, GetParam());
  EXPECT_FALSE(fs::exists(mount / "v2/a/3.3"));
  EXPECT_FALSE(fs::exists(mount / "v3/a/c/3/3"));
  EXPECT_FALSE(fs::exists(mount / "v2/a/0.3"));
  Replace(store_ / "a/c/1/1", EncodeShard(4, {{3, "in a new shard"}}));
  Replace(store_ / "a/c/0/1", EncodeShard(4, {{1, "in a shard that was there"}}));
  EXPECT_TRUE(Becomes(mount / "v2/a/3.3", "in a new shard"));
  EXPECT_TRUE(Becomes(mount / "v3/a/c/3/3", "in a new shard"));
  EXPECT_TRUE(Becomes(mount / "v2/a/0.3", "in a shard that was there"));
  EXPECT_TRUE(Lists(mount / "v3/a/c/3", "0\n3\n"));
}

TEST_P(EachMountTest, RemovedShardDisappears) {
  const TestMount mount(store_, GetParam());
  EXPECT_EQ(ReadFile(mount / "v2/a/3.0"), chunks_.at("3.0"));
  EXPECT_EQ(Shell("ls " + (mount / "v3/a/c").string()).output, "0\n1\n2\n3\n");
  fs::remove(store_ / "a/c/1/0");
  EXPECT_TRUE(Vanishes(mount / "v2/a/3.0"));
  EXPECT_TRUE(Vanishes(mount / "v3/a/c/3/0"));
  EXPECT_TRUE(Lists(mount / "v3/a/c", "0\n1\n"));
}

TEST_P(EachMountTest, ArraysComeAndGo) {
  const TestMount mount(store_, GetParam());
  EXPECT_EQ(Shell("ls " + (mount / "v2").string()).output, "a\n");
  EXPECT_FALSE(fs::exists(mount / "v2/b"));
  Replace(store_ / "b/zarr.json", SampleArrayOfStore().ZarrJson());
  Replace(store_ / "b/c/0/0", EncodeShard(4, {{0, "b"}}));
  EXPECT_TRUE(Lists(mount / "v2", "a\nb\n"));
  EXPECT_TRUE(Becomes(mount / "v2/b/0.0", "b"));
  fs::remove_all(store_ / "b");
  EXPECT_TRUE(Lists(mount / "v2", "a\n"));
  EXPECT_TRUE(Vanishes(mount / "v2/b/.zarray"));
}

// Uses the default options, with which the kernel reports changes of the store.
TEST_F(ChangeTest, FilesBesideOmeNodesChangeLikeAllOthers) {
  const fs::path ome = store_ / "OME";
  Replace(store_ / "zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes":
      {"ome": {"version": "0.5", "bioformats2raw.layout": 3}}})");
  Replace(ome / "zarr.json", GroupJson());
  Replace(ome / "METADATA.ome.xml", "<a>old</a>");
  const TestMount mount(store_);
  for (const std::string view : {"v2", "v3"}) {
    const fs::path folder = mount / view / "OME";
    const fs::path shown = folder / "METADATA.ome.xml";
    const auto lists = [&](const std::string& name) {
      return Shell("ls " + folder.string()).output.find(name) != std::string::npos;
    };
    const auto becomes = [&](const std::string& text) {
      return Eventually(Seconds(30), [&] { return ReadFile(shown) == text; });
    };
    EXPECT_TRUE(becomes("<a>old</a>"));
    EXPECT_TRUE(lists("METADATA.ome.xml"));
    EXPECT_FALSE(lists("more.txt"));
    EXPECT_FALSE(fs::exists(folder / "more.txt"));
    Replace(ome / "METADATA.ome.xml", "<a>new, longer</a>");
    EXPECT_TRUE(becomes("<a>new, longer</a>")) << view << ": replaced";
    std::ofstream(ome / "METADATA.ome.xml") << "<a>in place</a>";
    EXPECT_TRUE(becomes("<a>in place</a>")) << view << ": rewritten in place";
    std::ofstream(ome / "more.txt") << "more";
    EXPECT_TRUE(Eventually(Seconds(30), [&] { return ReadFile(folder / "more.txt") == "more"; }));
    EXPECT_TRUE(Eventually(Seconds(30), [&] { return lists("more.txt"); })) << view << ": added";
    fs::remove(ome / "more.txt");
    EXPECT_TRUE(Eventually(Seconds(30), [&] { return !fs::exists(folder / "more.txt"); }));
    EXPECT_TRUE(Eventually(Seconds(30), [&] { return !lists("more.txt"); })) << view << ": removed";
    Replace(ome / "METADATA.ome.xml", "<a>old</a>");
    EXPECT_TRUE(becomes("<a>old</a>"));
  }
}

TEST_F(ChangeTest, AnArrayThatIsAddedAsALinkIsConsolidated) {
  const TestMount mount(store_);
  const auto consolidates = [&](const std::string& name) {
    return ReadFile(mount / "v2/.zmetadata").find("\"" + name + "/.zarray\"") != std::string::npos;
  };
  EXPECT_TRUE(Eventually(Seconds(30), [&] { return consolidates("a"); }));
  EXPECT_EQ(Shell("ls " + (mount / "v2").string()).output, "a\n");
  fs::create_directory_symlink("a", store_ / "link");
  EXPECT_TRUE(Eventually(Seconds(30), [&] { return consolidates("link"); }));
  EXPECT_TRUE(Eventually(
      Seconds(30), [&] { return Shell("ls " + (mount / "v2").string()).output == "a\nlink\n"; }));
}

// With no_epoch, each name is invalidated separately, and lives for at least a second.
TEST_F(ChangeTest, DocumentThatDependsOnItsSiblingsIsNewAsSoonAsTheyChange) {
  const auto write = [&](const std::string& name, uint64_t length) {
    SampleArray array{.shape = {length}, .shard = {4}, .chunk = {2}};
    array.attributes = R"({"_ARRAY_DIMENSIONS": ["x"]})";
    Replace(store_ / name / "zarr.json", array.ZarrJson());
  };
  write("b", 7);
  write("c", 5);
  const TestMount mount(store_, "no_epoch");
  const auto name_in = [&](const std::string& array) {
    return Json::parse(ReadFile(mount / ("netcdf/" + array + "/.zattrs")))
        .value("_ARRAY_DIMENSIONS", std::vector<std::string>())
        .front();
  };
  SleepFor(Seconds(0.1));  // racy versions are looked up again
  EXPECT_EQ(name_in("b"), "x_7");
  EXPECT_EQ(name_in("c"), "x");
  write("x", 7);
  EXPECT_TRUE(Eventually(Seconds(0.8), [&] { return name_in("b") == "x"; }));
  EXPECT_EQ(name_in("c"), "x_5");
  EXPECT_EQ(name_in("x"), "x");
  SleepFor(Seconds(1.5));  // further changes are collected for a second
  EXPECT_EQ(name_in("b"), "x");
  fs::remove_all(store_ / "x");
  EXPECT_TRUE(Eventually(Seconds(0.8), [&] { return name_in("b") == "x_7"; }));
  EXPECT_EQ(name_in("c"), "x");
}

TEST_P(EachMountTest, ChangedAttributesAreSeen) {
  const TestMount mount(store_, GetParam());
  EXPECT_NE(ReadFile(mount / "v2/a/.zattrs").find("\"K\""), std::string::npos);
  const uint64_t chunk = InodeOf(mount / "v2/a/0.1");
  const uint64_t document = InodeOf(mount / "v3/a/zarr.json");
  SampleArray array = SampleArrayOfStore();
  array.attributes = R"({"unit": "degree_Celsius", "valid_min": -2})";
  Replace(store_ / "a/zarr.json", array.ZarrJson());
  for (const std::string name : {"v2/a/.zattrs", "v3/a/zarr.json"}) {
    EXPECT_TRUE(Eventually(
        kSoon, [&] { return ReadFile(mount / name).find("degree_Celsius") != std::string::npos; }));
    EXPECT_EQ(fs::file_size(mount / name), ReadFile(mount / name).size());
  }
  EXPECT_NE(InodeOf(mount / "v3/a/zarr.json"), document);
  EXPECT_EQ(InodeOf(mount / "v2/a/0.1"), chunk) << "the chunks are what they were";
}

TEST_P(EachMountTest, GrownArrayShowsItsNewChunks) {
  const TestMount mount(store_, GetParam());
  EXPECT_FALSE(fs::exists(mount / "v2/a/4.0"));
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
  SampleArray array = SampleArrayOfStore();
  array.shape = {60, 40};
  Replace(store_ / "a/c/2/0", EncodeShard(4, {{0, "grown"}}));
  Replace(store_ / "a/zarr.json", array.ZarrJson());
  EXPECT_TRUE(Becomes(mount / "v2/a/4.0", "grown"));
  EXPECT_TRUE(Becomes(mount / "v3/a/c/4/0", "grown"));
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
  EXPECT_TRUE(Eventually(
      kSoon, [&] { return ReadFile(mount / "v2/a/.zarray").find("60") != std::string::npos; }));
  EXPECT_TRUE(Lists(mount / "v3/a/c", "0\n1\n2\n3\n4\n"));
}

TEST_F(ChangeTest, ImmutableStoreIsNotLookedAtAgain) {
  SleepFor(Seconds(0.1));  // racy versions are not cached
  const TestMount mount(store_, "immutable");
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
  EXPECT_FALSE(fs::exists(mount / "v2/a/3.3"));
  EXPECT_EQ(Shell("ls " + (mount / "v2").string()).output, "a\n");
  Replace(store_ / "a/c/0/0", EncodeShard(4, {{1, "another chunk"}}));
  Replace(store_ / "a/c/1/1", EncodeShard(4, {{3, "new"}}));
  Replace(store_ / "b/zarr.json", SampleArrayOfStore().ZarrJson());
  SleepFor(Seconds(1.2));
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
  EXPECT_EQ(ReadFile(mount / "v2/a/1.1"), chunks_.at("1.1")) << "not read before, same shard";
  EXPECT_FALSE(fs::exists(mount / "v2/a/3.3"));
  EXPECT_EQ(Shell("ls " + (mount / "v2").string()).output, "a\n");
}

TEST_P(EachMountTest, HalfWrittenMetadataHidesNoChunk) {
  const TestMount mount(store_, GetParam());
  const std::string whole = ReadFile(store_ / "a/zarr.json");
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
  RewriteInPlace(store_ / "a/zarr.json", whole.substr(0, 20));
  EXPECT_TRUE(Eventually(kSoon, [&] {
    const Descriptor chunk(open((mount / "v2/a/0.1").c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(chunk) << "a reader would take an error on its name for a missing chunk";
    char byte = 0;
    return read(chunk.get(), &byte, 1) == -1 && errno == EIO;
  }));
  RewriteInPlace(store_ / "a/zarr.json", whole);
  EXPECT_TRUE(Becomes(mount / "v2/a/0.1", chunks_.at("0.1"))) << "an error is not remembered";
}

TEST_P(EachMountTest, FolderThatAnArrayNoLongerReachesIsEmpty) {
  const TestMount mount(store_, GetParam());
  const int row = open((mount / "v3/a/c/2").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(row, 0);
  auto json = Json::parse(ReadFile(store_ / "a/zarr.json"));
  json["shape"][0] = 1;
  Replace(store_ / "a/zarr.json", json.dump());
  EXPECT_TRUE(Eventually(kSoon, [&] {
    const Descriptor chunk(openat(row, "1", O_RDONLY | O_CLOEXEC));
    return !chunk && errno == ENOENT;
  }));
  EXPECT_EQ(ReadFile(mount / "v3/a/c/0/1"), chunks_.at("0.1"));
  close(row);
}

}  // namespace
}  // namespace zarrfs::change_test
