// Symbolic links in the store.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::links_test {
namespace {

namespace fs = std::filesystem;

class LinksTest : public testing::Test {
 protected:
  // Moves a file or folder out of the store, and puts a link in its place.
  void MoveOut(const fs::path& key, bool relative = false) {
    const fs::path target = outside_ / std::to_string(moved_++);
    fs::create_directories(outside_);
    fs::rename(store_ / key, target);
    const fs::path place = store_ / key;
    fs::create_symlink(relative ? fs::relative(target, place.parent_path()) : target, place);
  }
  // Expects that every chunk of the sample store is served as it was written.
  void ExpectAllChunks(const TestMount& mount) {
    for (const auto& [name, bytes] : chunks_) {
      EXPECT_TRUE(ReadFile(mount / "v2/a" / name) == bytes) << name;
    }
  }
  static bool Says(const TestMount& mount, const std::string& line) {
    return ReadFile(mount / ".zarrfs/options").find("\n" + line + "\n") != std::string::npos;
  }

  const TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const fs::path outside_ = folder_ / "repository/.git/annex/objects";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
  int moved_ = 0;
};

TEST_F(LinksTest, ShardsOutOfTheStoreAreReadExactly) {
  MoveOut("a/c/0/0");
  MoveOut("a/c/0/1", /*relative=*/true);
  for (const std::string& links : {std::string("follow"), outside_.string()}) {
    const TestMount mount(store_, "links=" + links);
    ExpectAllChunks(mount);
    EXPECT_TRUE(Says(mount, "links: " + links));
  }
}

TEST_F(LinksTest, ArraysOutOfTheStoreAreReadExactly) {
  MoveOut("a/zarr.json");
  MoveOut("a", /*relative=*/true);
  const TestMount mount(store_, "links=follow");
  ExpectAllChunks(mount);
}

TEST_F(LinksTest, AreFollowedUnlessOthersMayLook) {
  const TestMount shared(store_, "allow_other");
  EXPECT_TRUE(Says(shared, "links: inside"));
  const TestMount own(store_, "noallow_other");
  EXPECT_TRUE(Says(own, "links: follow"));
}

TEST_F(LinksTest, FolderOfThePolicyThatIsMissingFailsTheMount) {
  const fs::path mountpoint = folder_.Folder("mnt");
  const Unmounted unmounted(mountpoint);
  const Outcome outcome =
      RunProgram({ProgramUnderTest("zarrfs"), store_.string(), mountpoint.string(), "-o",
                  "links=" + (folder_ / "missing").string()});
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.errors.find("links=" + (folder_ / "missing").string() +
                                ": No such file or directory"),
            std::string::npos)
      << outcome.errors;
}

}  // namespace
}  // namespace zarrfs::links_test
