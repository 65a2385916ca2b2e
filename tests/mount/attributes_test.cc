// The files of a mount, as seen by common tools.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::attributes_test {
namespace {

namespace fs = std::filesystem;

struct stat StatOf(const fs::path& path) {
  struct stat info = {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path << ": " << std::strerror(errno);
  return info;
}

// "0.3" -> "c/0/3"
std::string NestedName(std::string name) {
  for (char& c : name) c = c == '.' ? '/' : c;
  return "c/" + name;
}

class AttributesTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
};

TEST_F(AttributesTest, SizesAreExactAndBlocksCoverThem) {
  const TestMount mount(store_);
  for (const auto& [name, bytes] : chunks_) {
    for (const fs::path& file : {mount / "v2/a" / name, mount / "v3/a" / NestedName(name)}) {
      const struct stat info = StatOf(file);
      EXPECT_EQ(info.st_size, static_cast<off_t>(bytes.size())) << file;
      EXPECT_EQ(info.st_blocks, static_cast<blkcnt_t>((bytes.size() + 511) / 512)) << file;
      EXPECT_EQ(ReadFile(file), bytes) << file;
    }
  }
  for (const std::string file : {"v2/a/.zarray", "v2/a/.zattrs", "v3/a/zarr.json", "v2/.zgroup"}) {
    EXPECT_EQ(static_cast<size_t>(StatOf(mount / file).st_size), ReadFile(mount / file).size());
    EXPECT_GT(StatOf(mount / file).st_size, 0) << file;
  }
}

TEST_F(AttributesTest, InodeNumbersFitThirtyTwoBitsAndAreThoseOfTheListing) {
  const TestMount mount(store_);
  std::map<uint64_t, std::string> seen;
  int entries = 0;
  for (const auto& entry : fs::recursive_directory_iterator(mount.path())) {
    const struct stat info = StatOf(entry.path());
    EXPECT_LT(info.st_ino, uint64_t{1} << 32) << entry.path();
    ++entries;
  }
  EXPECT_GT(entries, 20);
  const Outcome listed = Shell("find " + mount.path().string() + " -mindepth 1 -printf '%i %p\\n'");
  const Outcome stated =
      Shell("find " + mount.path().string() + " -mindepth 1 -exec stat -c '%i %n' {} +");
  EXPECT_EQ(listed.output, stated.output);
}

TEST_F(AttributesTest, ChunkThatSeveralViewsServeIsOneInodeWithALinkInEach) {
  const TestMount mount(store_);
  for (const auto& [name, bytes] : chunks_) {
    const struct stat v2 = StatOf(mount / "v2/a" / name);
    const struct stat v3 = StatOf(mount / "v3/a" / NestedName(name));
    EXPECT_EQ(v2.st_ino, v3.st_ino) << name;
    EXPECT_EQ(StatOf(mount / "gdal/a" / name).st_ino, v2.st_ino) << name;
    EXPECT_EQ(v2.st_nlink, 3U) << name;
    EXPECT_EQ(v3.st_nlink, 3U) << name;
  }
  std::set<uint64_t> inodes;
  for (const auto& [name, bytes] : chunks_) inodes.insert(StatOf(mount / "v2/a" / name).st_ino);
  EXPECT_EQ(inodes.size(), chunks_.size());
}

TEST_F(AttributesTest, ChunkHasOneLinkWhereOneViewIsMounted) {
  const TestMount v2(store_, "view=v2");
  EXPECT_EQ(StatOf(v2 / "a/0.1").st_nlink, 1U);
  EXPECT_EQ(ReadFile(v2 / "a/0.1"), chunks_.at("0.1"));
  const TestMount v3(store_, "view=v3");
  EXPECT_EQ(StatOf(v3 / "a/c/0/1").st_nlink, 1U);
  EXPECT_EQ(ReadFile(v3 / "a/c/0/1"), chunks_.at("0.1"));
}

TEST_F(AttributesTest, ChecksumIsLeftOutInV2AndKeptInV3) {
  SampleArray array = SampleArrayOfStore();
  array.checksums = true;
  Replace(store_ / "b/zarr.json", array.ZarrJson());
  Replace(store_ / "b/c/0/0", EncodeShard(4, {{0, WithChecksum("chunk")}}));
  const TestMount mount(store_);
  EXPECT_EQ(ReadFile(mount / "v2/b/0.0"), "chunk");
  EXPECT_EQ(ReadFile(mount / "v3/b/c/0/0"), WithChecksum("chunk"));
  EXPECT_EQ(StatOf(mount / "v2/b/0.0").st_size, 5);
  EXPECT_EQ(StatOf(mount / "v3/b/c/0/0").st_nlink, 1U);
  EXPECT_NE(StatOf(mount / "v2/b/0.0").st_ino, StatOf(mount / "v3/b/c/0/0").st_ino);
}

TEST_F(AttributesTest, FoldersHaveOneLink) {
  const TestMount mount(store_);
  for (const std::string name : {"", "v2", "v2/a", "v3", "v3/a", "v3/a/c", "v3/a/c/0"}) {
    EXPECT_EQ(StatOf(mount / name).st_nlink, 1U) << name;
    EXPECT_TRUE(S_ISDIR(StatOf(mount / name).st_mode)) << name;
  }
}

TEST_F(AttributesTest, TimesOwnerAndModeAreThoseOfTheShard) {
  const fs::path shard = store_ / "a/c/0/0";
  const fs::path document = store_ / "a/zarr.json";
  ASSERT_EQ(chmod(shard.c_str(), 0660), 0);
  ASSERT_EQ(chmod(document.c_str(), 0604), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(shard.c_str(), 1234, 4321), 0);
  }
  const timespec long_ago[2] = {{1'000'000'000, 123'456'789}, {1'000'000'000, 123'456'789}};
  ASSERT_EQ(utimensat(AT_FDCWD, shard.c_str(), long_ago, 0), 0);
  const TestMount mount(store_);
  const struct stat of_shard = StatOf(shard);
  const struct stat chunk = StatOf(mount / "v2/a/0.1");
  EXPECT_EQ(chunk.st_mode, S_IFREG | 0440U);
  EXPECT_EQ(chunk.st_uid, of_shard.st_uid);
  EXPECT_EQ(chunk.st_gid, of_shard.st_gid);
  EXPECT_EQ(chunk.st_mtim.tv_sec, 1'000'000'000);
  EXPECT_EQ(chunk.st_mtim.tv_nsec, 123'456'789);
  EXPECT_EQ(chunk.st_ctim.tv_sec, of_shard.st_ctim.tv_sec);
  const struct stat metadata = StatOf(mount / "v2/a/.zarray");
  EXPECT_EQ(metadata.st_mode, S_IFREG | 0404U);
  EXPECT_EQ(metadata.st_mtim.tv_sec, StatOf(document).st_mtim.tv_sec);
  EXPECT_EQ(metadata.st_mtim.tv_nsec, StatOf(document).st_mtim.tv_nsec);
  for (const std::string name : {"", "v2", "v3/a", "v3/a/c"}) {
    EXPECT_EQ(StatOf(mount / name).st_mode & 0222U, 0U) << name;
  }
}

TEST_F(AttributesTest, AFileIsAsClosedAsTheFoldersOfTheStoreAboveIt) {
  ASSERT_EQ(geteuid(), 0U) << "only a mount by root is for others";
  const auto set_mode = [&](const char* key, mode_t mode) {
    ASSERT_EQ(chmod((store_ / key).c_str(), mode), 0);
  };
  Replace(store_ / "zarr.json",
          R"({"zarr_format": 3, "node_type": "group", "attributes": {},
              "consolidated_metadata": {"kind": "inline", "must_understand": false,
                                        "metadata": {}}})");
  for (const char* name : {"open", "closed", "below/hidden"}) {
    Replace(store_ / name / "zarr.json", SampleArrayOfStore().ZarrJson());
  }
  Replace(store_ / "below/zarr.json", GroupJson());
  set_mode("closed/zarr.json", 0600);
  set_mode("below", 0700);
  for (const char* key : {"a", "a/c/0", "a/c/1"}) set_mode(key, 0755);
  set_mode("a/c", 0700);
  set_mode("a/c/0/0", 0644);
  const TestMount mount(store_);
  EXPECT_EQ(StatOf(mount / "v2/a/0.1").st_mode, S_IFREG | 0400U);
  EXPECT_EQ(StatOf(mount / "v3/a/c/0/1").st_mode, S_IFREG | 0400U);
  EXPECT_EQ(StatOf(mount / "v2/a/.zarray").st_mode, S_IFREG | 0444U);
  for (const char* name : {"v2/.zmetadata", "v3/zarr.json"}) {
    const std::string text = ReadFile(mount / name);
    EXPECT_NE(text.find("\"open"), std::string::npos) << text;
    EXPECT_EQ(text.find("\"closed"), std::string::npos) << name;
    EXPECT_EQ(text.find("hidden"), std::string::npos) << name;
  }
  EXPECT_NE(mount.Log().find("closed: left out of the consolidated metadata"), std::string::npos);
  // Once the folder is open to all users, so is the file.
  set_mode("a/c", 0755);
  EXPECT_TRUE(Eventually(Seconds(5),
                         [&] { return StatOf(mount / "v2/a/0.1").st_mode == (S_IFREG | 0444U); }));
}

TEST_F(AttributesTest, OwnerAndModeCanBeSet) {
  const TestMount mount(store_, "uid=77,gid=88,umask=027");
  for (const std::string name : {"v2/a/0.1", "v2/a/.zarray"}) {
    EXPECT_EQ(StatOf(mount / name).st_mode, S_IFREG | 0440U) << name;
    EXPECT_EQ(StatOf(mount / name).st_uid, 77U) << name;
    EXPECT_EQ(StatOf(mount / name).st_gid, 88U) << name;
  }
  EXPECT_EQ(StatOf(mount / "v2/a").st_mode, S_IFDIR | 0550U);
}

TEST_F(AttributesTest, SpaceIsThatOfTheSource) {
  const TestMount mount(store_);
  struct statvfs shown = {};
  struct statvfs source = {};
  ASSERT_EQ(statvfs(mount.path().c_str(), &shown), 0);
  ASSERT_EQ(statvfs(store_.c_str(), &source), 0);
  EXPECT_EQ(shown.f_blocks * shown.f_frsize, source.f_blocks * source.f_frsize);
  EXPECT_EQ(shown.f_files, source.f_files);
  EXPECT_EQ(shown.f_namemax, 255U);
  EXPECT_NE(shown.f_flag & ST_RDONLY, 0U);
  const Outcome df = Shell("df --output=size " + store_.string() + " " + mount.path().string() +
                           " | tail -n 2 | uniq | wc -l");
  EXPECT_EQ(df.output, "1\n") << df.errors;
}

TEST_F(AttributesTest, WritingIsRefusedAsOnAnyReadOnlyFileSystem) {
  const TestMount mount(store_);
  const fs::path file = mount / "v2/a/0.1";
  const fs::path new_file = mount / "v2/a/0.3";
  const auto refused = [](int result) { return result < 0 && errno == EROFS; };
  EXPECT_TRUE(refused(open(file.c_str(), O_WRONLY)));
  EXPECT_TRUE(refused(open(file.c_str(), O_RDWR | O_APPEND)));
  EXPECT_TRUE(refused(open(new_file.c_str(), O_WRONLY | O_CREAT, 0644)));
  EXPECT_TRUE(refused(unlink(file.c_str())));
  EXPECT_TRUE(refused(chmod(file.c_str(), 0777)));
  EXPECT_TRUE(refused(chown(file.c_str(), 1, 1)));
  EXPECT_TRUE(refused(truncate(file.c_str(), 0)));
  EXPECT_TRUE(refused(mkdir((mount / "v2/new").c_str(), 0755)));
  EXPECT_TRUE(refused(rmdir((mount / "v2/a").c_str())));
  EXPECT_TRUE(refused(rename(file.c_str(), new_file.c_str())));
  EXPECT_TRUE(refused(link(file.c_str(), new_file.c_str())));
  EXPECT_TRUE(refused(symlink("x", new_file.c_str())));
  EXPECT_TRUE(refused(utimes(file.c_str(), nullptr)));
  EXPECT_EQ(ReadFile(file), chunks_.at("0.1"));
}

TEST_F(AttributesTest, MappedFileHasItsBytes) {
  const TestMount mount(store_);
  const std::string& bytes = chunks_.at("1.2");
  const int fd = open((mount / "v2/a/1.2").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  void* map = mmap(nullptr, bytes.size(), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  ASSERT_NE(map, MAP_FAILED);
  EXPECT_EQ(std::string(static_cast<const char*>(map), bytes.size()), bytes);
  munmap(map, bytes.size());
}

// --- Tools

class ToolsTest : public AttributesTest {
 protected:
  // Runs a line of shell. $M is the mount, $C a folder for a copy.
  Outcome Tool(const std::string& line) {
    return Shell("M=" + mount_.path().string() + " C=" + (folder_ / "copy").string() + "; " + line);
  }
  // The paths and hashes of all files in a folder. Omits the view netcdf, which would have to
  // decode the chunks of the sample store, although they cannot be decoded.
  std::string Digest(const fs::path& top) {
    return Shell(
               "cd " + top.string() +
               " && find . -path ./netcdf -prune -o -type f -print0 | sort -z | xargs -0 sha256sum")
        .output;
  }
  const TestMount mount_{store_};
};

TEST_F(ToolsTest, FindFindsEveryFileAndNoOther) {
  std::set<std::string> expected = {"v2/.zgroup", "v2/a/.zarray", "v2/a/.zattrs", "v3/zarr.json",
                                    "v3/a/zarr.json"};
  for (const auto& [name, bytes] : chunks_) {
    expected.insert("v2/a/" + name);
    expected.insert("v3/a/" + NestedName(name));
  }
  const Outcome find = Tool("cd $M && find v2 v3 -type f");
  EXPECT_EQ(find.code, 0) << find.errors;
  std::istringstream lines(find.output);
  std::set<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(found.insert(line).second) << line << " is listed twice";
  }
  // These metadata files of the root are optional.
  for (const char* name : {"v2/.zattrs", "v2/.zmetadata"}) found.erase(name);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(Tool("find $M -type f -size 0").output, "");
}

TEST_F(ToolsTest, LsSaysWhatTheFilesAre) {
  const Outcome ls = Tool("cd $M/v2/a && ls -ln 0.1");
  EXPECT_EQ(ls.code, 0) << ls.errors;
  EXPECT_EQ(ls.output.substr(0, 13), "-r--r--r-- 3 ") << ls.output;
  EXPECT_NE(ls.output.find(" 511 "), std::string::npos) << ls.output;
  EXPECT_EQ(Tool("ls $M").output, "gdal\nnetcdf\nv2\nv3\n");
}

TEST_F(ToolsTest, Sha256sumOfAChunkIsThatOfItsBytes) {
  Replace(folder_ / "bytes", chunks_.at("2.1"));
  EXPECT_EQ(Tool("sha256sum < $M/v2/a/2.1").output,
            Shell("sha256sum < " + (folder_ / "bytes").string()).output);
}

TEST_F(ToolsTest, CpCopiesEverything) {
  const Outcome cp = Tool("mkdir $C && cp -r $M/v2 $M/v3 $M/gdal $C");
  EXPECT_EQ(cp.code, 0) << cp.errors;
  EXPECT_EQ(Digest(folder_ / "copy"), Digest(mount_.path()));
  EXPECT_EQ(ReadFile(folder_ / "copy/v3/a/c/2/1"), chunks_.at("2.1"));
}

TEST_F(ToolsTest, DuCountsWhatTwoViewsShareOnce) {
  uint64_t expected = 0;
  for (const auto& [name, bytes] : chunks_) expected += (bytes.size() + 511) / 512 * 512;
  const Outcome du = Tool("du -B1 -s $M/v2/a $M/v3/a");
  uint64_t counted = 0;
  uint64_t documents = 0;
  for (const std::string name : {"v2/a/.zarray", "v2/a/.zattrs", "v3/a/zarr.json"}) {
    documents += static_cast<uint64_t>(StatOf(mount_ / name).st_blocks) * 512;
  }
  for (size_t at = 0; at < du.output.size(); at = du.output.find('\n', at) + 1) {
    counted += std::stoull(du.output.substr(at));
  }
  EXPECT_EQ(counted, expected + documents) << du.output << du.errors;
}

TEST_F(ToolsTest, SparseTarKeepsEveryByte) {
  const Outcome tar = Tool("mkdir $C && tar -S -cf - -C $M --exclude ./netcdf . | tar -xf - -C $C");
  EXPECT_EQ(tar.code, 0) << tar.errors;
  EXPECT_EQ(Digest(folder_ / "copy"), Digest(mount_.path()));
}

TEST_F(ToolsTest, SecondRsyncTransfersNothingNotEvenFromAnotherMount) {
  const Outcome first = Tool("rsync -aH --exclude /netcdf $M/ $C/");
  EXPECT_EQ(first.code, 0) << first.errors;
  EXPECT_EQ(Digest(folder_ / "copy"), Digest(mount_.path()));
  const Outcome second = Tool("rsync -aH -n -i --exclude /netcdf $M/ $C/");
  EXPECT_EQ(second.output, "") << second.errors;
  const TestMount again(store_);
  const Outcome third = Shell("rsync -aH -n -i --exclude /netcdf " + again.path().string() + "/ " +
                              (folder_ / "copy").string() + "/");
  EXPECT_EQ(third.code, 0) << third.errors;
  EXPECT_EQ(third.output, "");
}

}  // namespace
}  // namespace zarrfs::attributes_test
