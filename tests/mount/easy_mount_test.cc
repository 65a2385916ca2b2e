// Mounting a store without a mount point, mounting a folder of stores, --check, and the permission
// to unmount.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::easy_mount_test {
namespace {

namespace fs = std::filesystem;

class EasyMountTest : public testing::Test {
 protected:
  EasyMountTest() { (void)WriteSampleStore(store_); }

  static std::string Zarrfs() { return ProgramUnderTest("zarrfs"); }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
};

TEST_F(EasyMountTest, AStoreAloneMakesItsFolderAndRemovesItInTheEnd) {
  const fs::path here = folder_.Folder("here");
  const Unmounted whatever_happens(here / "sample");
  const std::string mount_it =
      "cd " + here.string() + " && " + Zarrfs() + " ../sample.zarr/ -o view=v2";
  const Outcome outcome =
      Shell(mount_it + " && cat sample/a/0.1 >chunk && " + Zarrfs() + " --unmount sample");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_GT(fs::file_size(here / "chunk"), 0U);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return !fs::exists(here / "sample"); }));

  // A folder that existed before remains.
  fs::create_directory(here / "sample");
  EXPECT_EQ(Shell(mount_it + " && " + Zarrfs() + " --unmount sample").code, 0);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(here / "sample").empty(); }));
  EXPECT_TRUE(fs::is_directory(here / "sample"));
  fs::remove(here / "sample");

  // A failed mount leaves no folder behind.
  const Outcome failed =
      Shell("cd " + here.string() + " && mkdir empty.zarr && " + Zarrfs() + " empty.zarr");
  EXPECT_EQ(failed.code, 32);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return !fs::exists(here / "empty"); }));
}

TEST_F(EasyMountTest, OfAFolderOfStoresOnlyWhatIsSelectedIsThere) {
  const fs::path stores = folder_.Folder("stores");
  for (const char* name : {"a.zarr", "b.zarr", "scratch.zarr"}) {
    (void)WriteSampleStore(stores / name);
  }
  const TestMount mounted(stores, "show=*.zarr,hide=scratch*");
  for (const char* view : {"v2", "v3"}) {
    std::string names;
    for (const auto& entry : fs::directory_iterator(mounted / view)) {
      if (entry.is_directory()) names += entry.path().filename().string() + " ";
    }
    EXPECT_TRUE(names == "a.zarr b.zarr " || names == "b.zarr a.zarr ") << names;
  }
  EXPECT_TRUE(fs::exists(mounted / "v2/a.zarr/a/.zarray"));
  EXPECT_FALSE(fs::exists(mounted / "v2/scratch.zarr/a/.zarray"));
  EXPECT_EQ(ReadFile(mounted / "v2/.zmetadata").find("scratch"), std::string::npos);

  // A store that is added later appears if it matches.
  (void)WriteSampleStore(stores / "c.zarr");
  (void)WriteSampleStore(stores / "scratch2.zarr");
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return fs::exists(mounted / "v2/c.zarr/a/.zarray"); }));
  EXPECT_FALSE(fs::exists(mounted / "v2/scratch2.zarr"));
}

TEST_F(EasyMountTest, ACheckOfAMountNamesWhatNeedsANewOne) {
  const TestMount mounted(store_, "view=v2");
  const auto check = [&](const std::string& options) {
    return RunProgram(
        {Zarrfs(), "--check", store_.string(), mounted.path().string(), "-o", options});
  };
  EXPECT_EQ(check("view=v2").code, 0);
  EXPECT_EQ(check("view=v2").errors, "");
  const Outcome other = check("view=v3");
  EXPECT_EQ(other.code, 0);
  EXPECT_NE(other.errors.find("must be unmounted and mounted again to change view=v3"),
            std::string::npos)
      << other.errors;
  EXPECT_EQ(check("view=v9").code, 1);
  const fs::path another = folder_ / "another.zarr";
  (void)WriteSampleStore(another);
  const Outcome another_store =
      RunProgram({Zarrfs(), "--check", another.string(), mounted.path().string()});
  EXPECT_EQ(another_store.code, 32);
  EXPECT_NE(another_store.errors.find("is a mount of " + store_.string()), std::string::npos)
      << another_store.errors;
  EXPECT_TRUE(fs::exists(mounted / "a/.zarray"));
}

TEST_F(EasyMountTest, OthersCannotUnmountAndAreToldWhoCan) {
  const TestMount mounted(store_);
  fs::copy_file(Zarrfs(), folder_ / "zarrfs");
  const Outcome outcome =
      RunProgram({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                  (folder_ / "zarrfs").string(), "--unmount", mounted.path().string()});
  EXPECT_EQ(outcome.code, 32);
  EXPECT_NE(outcome.errors.find("was mounted by root: only root can unmount it"), std::string::npos)
      << outcome.errors;
  EXPECT_TRUE(IsMounted(mounted.path()));
}

}  // namespace
}  // namespace zarrfs::easy_mount_test
