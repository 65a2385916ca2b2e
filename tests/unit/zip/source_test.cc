#include "zarrcore/zip/source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/local/local_store_testing.h"
#include "tests/unit/support/zip_writer.h"

namespace zarrfs::source_test {
namespace {

struct SourceTest : LocalStoreTest {
  void SetUp() override {
    LocalStoreTest::SetUp();
    ZipWriter zip;
    zip.Add("a", "at the root");
    zip.Add("below/ocean.zarr/a", "below");
    Write("x.zip", zip.Finish());
    fs::create_directory(root / "folder.zip");
    Write("folder.zip/a", "in a folder");
    Write("folder.zip/y.OZX", zip.Finish());
  }
  [[nodiscard]] std::string Seen(const std::string& below) const {
    const auto store = OpenSource((root / below).string());
    return store ? ReadAll(**store, "a") : std::string(ToString(store.error().code));
  }
};

TEST_F(SourceTest, NamesAFolderAZipFileOrAFolderInOne) {
  EXPECT_EQ(Seen("x.zip"), "at the root");
  EXPECT_EQ(Seen("x.zip/"), "at the root");
  EXPECT_EQ(Seen("x.zip/below/ocean.zarr"), "below");
  EXPECT_EQ(Seen(".//x.zip//below/./ocean.zarr/"), "below");
  EXPECT_EQ(Seen("folder.zip"), "in a folder");
  EXPECT_EQ(Seen("folder.zip/y.OZX/below/ocean.zarr"), "below");
  EXPECT_EQ(Seen("x.zip/none"), "not found");
  EXPECT_EQ(Seen("none.zip"), "not found");
  Write("x.tar", "");
  EXPECT_EQ(Seen("x.tar"), "not a directory");
  Write("bad.zip", "no zip file");
  EXPECT_EQ(Seen("bad.zip"), "input/output error");
}

TEST_F(SourceTest, IsFoundByAFolderThatWasOpenedBefore) {
  const std::string source = (root / "x.zip/below/ocean.zarr").string();
  Descriptor folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  fs::rename(root, outer / "moved");
  EXPECT_FALSE(FindSource(source).is_zip());
  const SourcePlace place = FindSource(source, folder);
  EXPECT_EQ(place.folder, root.string());
  EXPECT_EQ(place.zip, "x.zip");
  EXPECT_EQ(place.below, "below/ocean.zarr");
  EXPECT_EQ(place.path(), (root / "x.zip").string());
  const auto store = OpenSource(source, {.follow_path = false}, std::move(folder));
  EXPECT_EQ(ReadAll(**store, "a"), "below");
}

TEST_F(SourceTest, AZipFileMayBeALinkAndIsWatchedWhereItIsNone) {
  fs::create_directory(outer / "elsewhere");
  fs::rename(root / "x.zip", outer / "elsewhere/data");
  fs::create_symlink(outer / "elsewhere/data", root / "x.zip");
  EXPECT_EQ(Seen("x.zip"), "at the root");
  EXPECT_TRUE(OpenSource((root / "x.zip").string()).value()->Stat("a")->may_change_elsewhere);
  EXPECT_FALSE(
      OpenSource((root / "folder.zip/y.OZX").string()).value()->Stat("a")->may_change_elsewhere);
}

TEST_F(SourceTest, OneWhoseFileMayNotBeReadAnyMoreIsOutOfReach) {
  int calls = 0;
  const auto store =
      OpenSource((root / "x.zip").string(), {.on_out_of_reach = [&] { ++calls; }}).value();
  EXPECT_EQ(ReadAll(*store, "a"), "at the root");
  EXPECT_EQ(calls, 0);
  Replace("x.zip", "");
  fs::permissions(root / "x.zip", fs::perms::none);
  fs::permissions(outer, fs::perms::all);
  // Root reads everything: this thread is somebody else for a moment.
  const bool root_runs_this = geteuid() == 0;
  if (root_runs_this) setfsuid(65534);
  EXPECT_EQ(store->Stat("a").error().code, ErrorCode::kPermissionDenied);
  if (root_runs_this) setfsuid(0);
  EXPECT_GT(calls, 0);
}

}  // namespace
}  // namespace zarrfs::source_test
