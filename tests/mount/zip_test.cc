// Stores in zip files. tests/interop/test_zip.py tests files that other programs wrote.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>

#include "tests/mount/looker.h"
#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::zip_test {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = ProgramUnderTest("zarrfs");

class ZipTest : public testing::Test {
 protected:
  void SetUp() override {
    chunks_ = WriteSampleStore(store_);
    Zip(zip_);
  }

  /// Writes a zip file of the store, and renames it to `to`. One shard is deflated; all other
  /// members are stored.
  void Zip(const fs::path& to) {
    const fs::path made = folder_ / fmt::format("{}.zip", ++made_);
    const Outcome outcome =
        Shell(fmt::format("cd '{0}' && zip -q -r -0 '{1}' . -x a/c/0/1 && zip -q '{1}' a/c/0/1",
                          store_.string(), made.string()));
    ASSERT_EQ(outcome.code, 0) << outcome.output << outcome.errors;
    fs::rename(made, to);
  }

  /// Changes a chunk in a stored member, and a chunk in the deflated member.
  void Change() {
    const SampleArray array = SampleArrayOfStore();
    for (const std::string shard : {"a/c/0/0", "a/c/0/1"}) {
      Chunks chunks = DecodeShard(array.chunks_per_shard(), ReadFile(store_ / shard));
      const std::string bytes = Pattern(700 + chunks.begin()->second.size(), 4242);
      chunks.begin()->second = bytes;
      Replace(store_ / shard, EncodeShard(array.chunks_per_shard(), chunks));
      chunks_[shard == "a/c/0/0" ? "0.0" : "0.2"] = bytes;
    }
  }

  void ExpectAllChunks(const fs::path& mnt) const {
    for (const auto& [name, bytes] : chunks_) EXPECT_EQ(ReadFile(mnt / "v2/a" / name), bytes);
  }

  const TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store.zarr";
  const fs::path zip_ = folder_.Folder("data") / "store.zarr.zip";
  const fs::path mnt_ = folder_.Folder("mnt");
  std::map<std::string, std::string> chunks_;
  int made_ = 0;
};

TEST_F(ZipTest, HasTheOwnerTheModeAndTheTimesOfTheFile) {
  ASSERT_EQ(chmod(zip_.c_str(), 0640), 0);
  const TestMount mount(zip_, "", mnt_);
  ExpectAllChunks(mnt_);
  struct stat of_zip = {}, of_chunk = {}, of_folder = {};
  ASSERT_EQ(stat(zip_.c_str(), &of_zip), 0);
  ASSERT_EQ(stat((mnt_ / "v2/a/0.0").c_str(), &of_chunk), 0);
  ASSERT_EQ(stat((mnt_ / "v2/a").c_str(), &of_folder), 0);
  EXPECT_EQ(of_chunk.st_mode & 0777U, 0440U);
  EXPECT_EQ(of_folder.st_mode & 0777U, 0550U);
  EXPECT_EQ(of_chunk.st_uid, of_zip.st_uid);
  EXPECT_EQ(of_chunk.st_mtim.tv_sec, of_zip.st_mtim.tv_sec);
}

TEST_F(ZipTest, AFileThatIsReplacedIsSeenAndWhoHasItOpenReadsOn) {
  const TestMount mount(zip_, "", mnt_);
  ExpectAllChunks(mnt_);
  EXPECT_NE(ReadFile(mnt_ / ".zarrfs/options").find("changes: reported"), std::string::npos);
  const std::string before = chunks_.at("0.0");
  const int open_file = open((mnt_ / "v2/a/0.0").c_str(), O_RDONLY | O_CLOEXEC);
  Change();
  Zip(zip_);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return ReadFile(mnt_ / "v2/a/0.0") != before; }));
  ExpectAllChunks(mnt_);
  posix_fadvise(open_file, 0, 0, POSIX_FADV_DONTNEED);
  std::string bytes(before.size() + 1, '\0');
  EXPECT_EQ(pread(open_file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(before.size()));
  close(open_file);
  EXPECT_EQ(bytes.substr(0, before.size()), before);
}

TEST_F(ZipTest, ReadersOfAFileThatIsReplacedAllTheTimeSeeNoMixture) {
  const TestMount mount(zip_, "", mnt_);
  ExpectAllChunks(mnt_);
  // The chunks that are the same in each version.
  std::map<std::string, std::string> same = chunks_;
  same.erase("0.0");
  same.erase("0.2");
  Looker looker(mnt_ / "v2/a", same);
  for (int i = 0; i < 20; ++i) {
    Change();
    Zip(zip_);
  }
  EXPECT_TRUE(Eventually(Seconds(20), [&] { return looker.right() > 50; }));
  for (const int error : looker.Stop()) EXPECT_EQ(error, ESTALE);
  EXPECT_EQ(looker.wrong(), 0);
  EXPECT_TRUE(
      Eventually(Seconds(5), [&] { return ReadFile(mnt_ / "v2/a/0.0") == chunks_.at("0.0"); }));
}

TEST_F(ZipTest, AFileThatIsRewrittenInPlaceIsStaleToWhoHasItOpen) {
  const TestMount mount(zip_, "", mnt_);
  const std::string before = chunks_.at("0.0");
  const int open_file = open((mnt_ / "v2/a/0.0").c_str(), O_RDONLY | O_CLOEXEC);
  Change();
  Zip(folder_ / "next");
  RewriteInPlace(zip_, ReadFile(folder_ / "next"));
  EXPECT_TRUE(
      Eventually(Seconds(5), [&] { return ReadFile(mnt_ / "v2/a/0.0") == chunks_.at("0.0"); }));
  ExpectAllChunks(mnt_);
  char byte = 0;
  EXPECT_EQ(pread(open_file, &byte, 1, 0), -1);
  EXPECT_EQ(errno, ESTALE);
  close(open_file);
}

TEST_F(ZipTest, OneThatIsGoneOrHalfWrittenHasNoAbsentChunk) {
  const TestMount mount(zip_, "ttl=0.05", mnt_);
  EXPECT_EQ(ReadFile(mnt_ / "v2/a/0.1"), chunks_.at("0.1"));
  const auto is_error = [&](const std::string& chunk) {
    struct stat info = {};
    if (stat((mnt_ / "v2/a" / chunk).c_str(), &info) != 0) return errno != ENOENT;
    const int file = open((mnt_ / "v2/a" / chunk).c_str(), O_RDONLY | O_CLOEXEC);
    char byte = 0;
    const ssize_t have = read(file, &byte, 1);
    close(file);
    return have < 0;
  };
  const fs::path aside = folder_ / "aside";
  fs::copy(zip_, aside);
  RewriteInPlace(zip_, ReadFile(aside).substr(0, 2000));
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return is_error("0.1"); }));
  EXPECT_TRUE(is_error("0.0"));
  EXPECT_TRUE(is_error("3.3")) << "it may be stored by now";
  fs::remove(zip_);
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    return ReadFile(mnt_ / ".zarrfs/options").find("store: gone") != std::string::npos;
  }));
  EXPECT_TRUE(is_error("0.1"));
  EXPECT_TRUE(is_error("3.3"));
  fs::rename(aside, zip_);
  EXPECT_TRUE(
      Eventually(Seconds(5), [&] { return ReadFile(mnt_ / "v2/a/0.1") == chunks_.at("0.1"); }));
}

TEST_F(ZipTest, IsFoundAgainBelowItsOwnMount) {
  const fs::path data = zip_.parent_path();
  const Unmounted data_too(data);
  ASSERT_EQ(RunProgram({kProgram, zip_, data, "-o", "nonempty"}).code, 0);
  const pid_t worker = WorkerOf(data);
  kill(worker, SIGKILL);
  ExpectAllChunks(data);  // the next worker answers
  EXPECT_NE(WorkerOf(data), worker);
}

// The file is a link that is switched to a folder outside the sandbox.
TEST_F(ZipTest, ALinkThatLeadsElsewhereIsTheNextWorkers) {
  const fs::path link = folder_.Folder("links") / "current.zip";
  fs::create_symlink(zip_, link);
  const TestMount mount(link, "", mnt_);
  ExpectAllChunks(mnt_);
  Change();
  Zip(folder_.Folder("elsewhere") / "next.zip");
  fs::create_symlink(folder_ / "elsewhere/next.zip", folder_ / "links/next");
  fs::rename(folder_ / "links/next", link);
  EXPECT_TRUE(Eventually(Seconds(90), [&] {
    return ReadFile(mnt_ / "v2/a/0.0") == chunks_.at("0.0");
  })) << mount.Log();
  ExpectAllChunks(mnt_);
}

TEST_F(ZipTest, NeedsNoMountPointAndIsCheckedAndListed) {
  const Outcome checked = RunProgram({kProgram, "--check", zip_, mnt_});
  EXPECT_EQ(checked.code, 0) << checked.errors;
  const Unmounted own(folder_ / "data/store");
  const Outcome outcome =
      Shell(fmt::format("cd '{}' && '{}' store.zarr.zip", zip_.parent_path().string(), kProgram));
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  ExpectAllChunks(folder_ / "data/store");
  const Outcome list = RunProgram({kProgram, "--list"});
  EXPECT_NE(list.output.find(zip_.string()), std::string::npos) << list.output;
}

}  // namespace
}  // namespace zarrfs::zip_test
