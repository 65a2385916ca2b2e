// Files that cannot be read are never absent: their names exist, and READ fails.

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::unreadable_test {
namespace {

namespace fs = std::filesystem;

// "absent", "folder", the bytes of a file, or a word for the error of reading it.
std::string Seen(const fs::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno == ENOENT ? "absent" : "no attributes";
  if (S_ISDIR(info.st_mode)) return "folder";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "cannot be opened";
  std::string bytes(1 << 16, '\0');
  const ssize_t have = read(fd, bytes.data(), bytes.size());
  const int error = errno;
  close(fd);
  if (have < 0) return error == ENOENT ? "absent" : "error";
  return bytes.substr(0, static_cast<size_t>(have));
}

class UnreadableTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
  static constexpr const char* kSoon = "ttl=0.05";
  static void WaitForTtl() { SleepFor(Seconds(0.1)); }
};

TEST_F(UnreadableTest, ChunksOfAnArrayThatIsGoneAreFilesThatCannotBeRead) {
  const TestMount mount(store_, kSoon);
  for (const std::string view : {"v2", "v3"}) {
    const std::string name = view == "v2" ? "0.1" : "c/0/1";
    EXPECT_EQ(ReadFile(mount / (view + "/a/" + name)), chunks_.at("0.1"));
  }
  fs::remove_all(store_ / "a");
  WaitForTtl();
  for (const std::string chunk : {"v2/a/0.0", "v2/a/0.3", "v2/a/3.3", "v3/a/c/0/0", "v3/a/c/3/3"}) {
    EXPECT_EQ(Seen(mount / chunk), "error") << chunk << ": a reader would take it for a fill value";
  }
  EXPECT_EQ(Seen(mount / "v2/a/.zarray"), "absent") << "the array can be seen to be gone";
  EXPECT_EQ(Seen(mount / "v3/a/zarr.json"), "absent");
  EXPECT_EQ(Seen(mount / "v2/a/4.0"), "absent") << "never was a chunk";
  EXPECT_EQ(Shell("ls " + (mount / "v2").string()).output, "");
  EXPECT_NE(Shell("cat " + (mount / "v2/a/0.0").string()).code, 0);
  EXPECT_NE(ReadFile(mount / ".zarrfs/errors"), "");
  // The array comes back.
  Replace(store_ / "a/zarr.json", SampleArrayOfStore().ZarrJson());
  WaitForTtl();
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return Seen(mount / "v2/a/0.0") == "absent"; }));
  EXPECT_EQ(Seen(mount / "v2/a/.zarray").substr(0, 1), "{");
}

TEST_F(UnreadableTest, ChunksOfAnArrayThatOnlyConsolidatedMetadataNamedAreNotAbsentWhenItIsGone) {
  const TestMount mount(store_);
  EXPECT_NE(ReadFile(mount / "v2/.zmetadata").find("a/.zarray"), std::string::npos);
  fs::remove_all(store_ / "a");
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    return Seen(mount / "v2/.zmetadata") == "absent" ||
           ReadFile(mount / "v2/.zmetadata").find("a/") == std::string::npos;
  }));
  EXPECT_EQ(Seen(mount / "v2/a/0.0"), "error");
  EXPECT_EQ(Seen(mount / "v3/a/c/3/3"), "error");
}

TEST_F(UnreadableTest, NoChunkBecomesAbsentInAnImmutableStoreThatIsGone) {
  const TestMount mount(store_, "immutable");
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
  EXPECT_EQ(Seen(mount / "v2/a/0.3"), "absent");
  fs::remove_all(store_ / "a");
  EXPECT_EQ(Seen(mount / "v2/a/2.1"), "error") << "another shard, which nobody had looked for";
}

TEST_F(UnreadableTest, WhatIsNoFileInThePlaceOfAShardCannotBeRead) {
  fs::remove(store_ / "a/c/0/0");
  ASSERT_EQ(mkfifo((store_ / "a/c/0/0").c_str(), 0644), 0);
  ASSERT_EQ(mkfifo((store_ / "pipe").c_str(), 0644), 0);
  const TestMount mount(store_);
  EXPECT_EQ(Seen(mount / "v2/a/0.0"), "error");
  EXPECT_EQ(Seen(mount / "v3/a/c/1/1"), "error");
  EXPECT_EQ(Shell("ls " + (mount / "v2").string()).output, "a\n") << "and is no node";
  EXPECT_NE(ReadFile(mount / ".zarrfs/errors").find("a/c/0/0"), std::string::npos);
}

TEST_F(UnreadableTest, ChunksOfAStoreThatIsGoneAreFilesThatCannotBeRead) {
  for (const std::string options : {"ttl=0.05", ""}) {
    const TestMount mount(store_, options);
    EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
    EXPECT_NE(ReadFile(mount / ".zarrfs/options").find("store: there\n"), std::string::npos);
    const fs::path aside = folder_ / "aside";
    fs::rename(store_, aside);
    fs::create_directory(store_);
    EXPECT_TRUE(Eventually(Seconds(5), [&] { return Seen(mount / "v2/a/0.2") == "error"; }));
    for (const std::string chunk : {"v2/a/0.0", "v2/a/0.3", "v3/a/c/3/3", "gdal/a/0.0"}) {
      EXPECT_EQ(Seen(mount / chunk), "error") << chunk;
    }
    const std::string options_text = ReadFile(mount / ".zarrfs/options");
    EXPECT_NE(options_text.find("store: gone"), std::string::npos) << options_text;
    EXPECT_NE(ReadFile(mount / ".zarrfs/errors").find("is gone"), std::string::npos);
    EXPECT_NE(mount.Log().find("is gone"), std::string::npos);
    const Outcome list = RunProgram({ProgramUnderTest("zarrfs"), "--list"});
    EXPECT_NE(list.errors.find("the store is gone"), std::string::npos) << list.errors;
    const Outcome status = RunProgram({ProgramUnderTest("zarrctl"), "status", mount.path()});
    EXPECT_NE(status.output.find("gone or cannot be read"), std::string::npos) << status.output;
    EXPECT_NE(Shell("ls " + (mount / "v2/a").string()).code, 0) << "not empty";
    fs::remove(store_);
    fs::rename(aside, store_);
    EXPECT_TRUE(
        Eventually(Seconds(5), [&] { return Seen(mount / "v2/a/0.1") == chunks_.at("0.1"); }));
    EXPECT_TRUE(Eventually(Seconds(5), [&] {
      return ReadFile(mount / ".zarrfs/options").find("store: there\n") != std::string::npos;
    }));
    EXPECT_NE(mount.Log().find("is back"), std::string::npos);
  }
}

TEST_F(UnreadableTest, AStoreThatIsDeletedIsNotAnEmptyOne) {
  const TestMount mount(store_, kSoon);
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
  fs::remove_all(store_);
  WaitForTtl();
  EXPECT_EQ(Seen(mount / "v2/a/0.0"), "error");
  EXPECT_EQ(Seen(mount / "v2/a/2.2"), "error");
  EXPECT_NE(ReadFile(mount / ".zarrfs/options").find("store: gone"), std::string::npos);
  EXPECT_NE(Shell("cp -r " + (mount / "v2").string() + " " + (folder_ / "copy").string()).code, 0);
}

TEST_F(UnreadableTest, ChunksBelowMetadataThatCannotBeReadAreFilesThatCannotBeRead) {
  const TestMount mount(store_, kSoon);
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
  RewriteInPlace(store_ / "a/zarr.json", "{\"zarr_format\": 3");
  WaitForTtl();
  EXPECT_EQ(Seen(mount / "v2/a/0.0"), "error");
  EXPECT_EQ(Seen(mount / "v2/a/3.3"), "error");
  EXPECT_EQ(Seen(mount / "v3/a/c/0/0"), "error");
  EXPECT_EQ(Seen(mount / "v2/a/4.0"), "error") << "the array may have grown";
  EXPECT_EQ(Seen(mount / "v2/a/.zarray"), "error");
  EXPECT_EQ(Seen(mount / "v3/a/zarr.json"), "error");
  EXPECT_NE(Shell("ls " + (mount / "v2/a").string()).code, 0) << "not an empty folder";
}

TEST_F(UnreadableTest, AnArrayThatCouldNeverBeReadIsListedAndCannotBeRead) {
  Replace(store_ / "b/zarr.json", "{\"zarr_format\": 3, ");
  const TestMount mount(store_);
  EXPECT_EQ(Shell("ls " + (mount / "v2").string()).output, "a\nb\n");
  EXPECT_EQ(Seen(mount / "v2/b"), "folder");
  EXPECT_EQ(Seen(mount / "v2/b/.zarray"), "error");
  EXPECT_EQ(Seen(mount / "v2/b/0.0"), "error") << "a chunk that a reader may know of";
  EXPECT_EQ(Seen(mount / "v3/b/zarr.json"), "error");
  EXPECT_NE(Shell("cp -r " + (mount / "v2").string() + " " + (folder_ / "copy").string()).code, 0);
  EXPECT_EQ(ReadFile(folder_ / "copy/a/0.1"), chunks_.at("0.1")) << "what is sound is copied";
  EXPECT_EQ(Seen(mount / "v2/.zmetadata"), "absent") << "readers look at each node";
  EXPECT_NE(ReadFile(mount / ".zarrfs/errors").find("b/zarr.json"), std::string::npos);
}

// A user mounts a store that this user may read only in part.
TEST_F(UnreadableTest, WhatTheMountMayNotReadIsThereAndCannotBeRead) {
  ASSERT_EQ(geteuid(), 0U) << "only root can become another user for this test";
  const FuseDeviceForUsers device;
  fs::copy_file(ProgramUnderTest("zarrfs"), folder_ / "zarrfs");
  const fs::path point = folder_.Folder("point");
  const Unmounted unmounted(point);
  ASSERT_EQ(chown(point.c_str(), 65534, 65534), 0);

  Replace(store_ / "b/zarr.json", SampleArrayOfStore().ZarrJson());
  Replace(store_ / "b/c/0/0", EncodeShard(4, {{0, "b"}}));
  for (const char* key : {"a/c/0/0", "a/c/1", "b/zarr.json"}) {
    ASSERT_EQ(chmod((store_ / key).c_str(), 0), 0);
  }
  const auto as_nobody = [&](const std::string& line) {
    return Shell("setpriv --reuid=65534 --regid=65534 --clear-groups /bin/sh -c '" + line + "'");
  };
  const Outcome mounting =
      as_nobody((folder_ / "zarrfs").string() + " " + store_.string() + " " + point.string());
  ASSERT_EQ(mounting.code, 0) << mounting.errors;
  const auto seen = [&](const std::string& name) {
    const std::string path = (point / name).string();
    return as_nobody("test -f " + path + " && echo there; cat " + path +
                     " >/dev/null 2>&1 || echo error")
        .output;
  };
  for (const char* name : {"v2/a/0.0", "v2/a/1.0", "v2/a/2.1", "v2/a/3.3", "v3/a/c/2/1"}) {
    EXPECT_EQ(seen(name), "there\nerror\n") << name;
  }
  EXPECT_EQ(seen("v2/a/0.2"), "there\n");
  EXPECT_EQ(seen("v2/b/.zarray"), "there\nerror\n");
  EXPECT_NE(as_nobody("ls " + (point / "v2/a").string()).code, 0) << "a row is not known";
  const std::string errors = as_nobody("cat " + (point / ".zarrfs/errors").string()).output;
  for (const char* key : {"a/c/0/0", "a/c/1", "b/zarr.json"}) {
    EXPECT_NE(errors.find(key), std::string::npos) << errors;
  }
  EXPECT_EQ(as_nobody("fusermount3 -u " + point.string()).code, 0);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(point).empty(); }));
}

}  // namespace
}  // namespace zarrfs::unreadable_test
