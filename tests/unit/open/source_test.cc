#include "zarrcore/open/source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

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
    const auto store = OpenSource(Source((root / below).string()));
    return store ? ReadAll(**store, "a") : std::string(ToString(store.error().code));
  }
};

TEST(SourceName, SaysHowItsObjectsAreReached) {
  for (const auto& [text, place, needs_fetcher, is_absolute] :
       {std::tuple{"ocean.zarr", PlaceKind::kFolder, false, false},
        {"/data/ocean.zarr", PlaceKind::kFolder, false, true},
        {"/data/s3://x", PlaceKind::kFolder, false, true},
        {"hf://datasets/x", PlaceKind::kFolder, false, false},
        {"s3://bucket/x", PlaceKind::kBucket, true, true},
        {"gs://bucket/x", PlaceKind::kBucket, true, true},
        {"az://account/container/x", PlaceKind::kWebServer, true, true},
        {"http://host/x", PlaceKind::kWebServer, true, true},
        {"https://host/x", PlaceKind::kWebServer, true, true}}) {
    const Source source(text);
    EXPECT_EQ(source.text(), text);
    EXPECT_EQ(source.place(), place) << text;
    EXPECT_EQ(source.needs_fetcher(), needs_fetcher) << text;
    EXPECT_EQ(source.is_absolute(), is_absolute) << text;
  }
  EXPECT_TRUE(Source("hf://datasets/x").is_address());
  EXPECT_FALSE(Source("/data/ocean.zarr").is_address());
}

TEST(SourceName, InAnAddressThatEndsLikeAZipFileIsOne) {
  const Location zip = Source("https://host/a%20b/x.ZIP/in+%C3%BC//deep/").Locate();
  ASSERT_NE(zip.layer, nullptr);
  EXPECT_EQ(zip.folder, "https://host/a%20b");
  EXPECT_EQ(zip.file, "x.ZIP");
  EXPECT_EQ(zip.inside, "in+\xc3\xbc//deep");
  EXPECT_EQ(Source("s3://b/x.ozx/a%20+b").Locate().inside, "a%20+b");
  for (const char* text : {"s3://x.zip", "s3://x.zip/a", "https://x.zip/a", "https://host/.zip",
                           "https://host/a.zip.old", "/none/x.zip"}) {
    const Location location = Source(text).Locate();
    EXPECT_EQ(location.layer, nullptr) << text;
    EXPECT_EQ(location.path(), text);
  }
#ifdef ZARRFS_REMOTE
  EXPECT_EQ(Source("https://host/x.zip/a").Remote({})->url, "https://host/x.zip");
#endif
}

TEST_F(SourceTest, AFolderWithTheMarksOfIcechunkIsARepository) {
  const auto layer_of = [&](const std::string& below) {
    const Location location = Source((root / below).string()).Locate();
    return location.layer == nullptr ? std::string() : std::string(location.layer->name);
  };
  for (const char* name : {"one/refs/branch.main", "two", "other/repo"}) {
    fs::create_directories(root / name);
  }
  Write("one/refs/branch.main/ref.json", "{}");
  Write("two/repo",
        "ICE\xF0\x9F\xA7\x8A"
        "CHUNK and more");
  Write("other/repo/zarr.json", "{}");
  EXPECT_EQ(layer_of("one"), "icechunk");
  EXPECT_EQ(layer_of("two"), "icechunk");
  EXPECT_EQ(layer_of("other"), "") << "a folder of this name";
  Write("three", "");
  EXPECT_EQ(layer_of("three"), "");
}

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
  const Source source((root / "x.zip/below/ocean.zarr").string());
  Descriptor folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  fs::rename(root, outer / "moved");
  EXPECT_EQ(source.Locate().layer, nullptr);
  const Location place = source.Locate(folder);
  EXPECT_EQ(place.folder, root.string());
  EXPECT_EQ(place.file, "x.zip");
  EXPECT_EQ(place.layer->name, "zip");
  EXPECT_EQ(place.inside, "below/ocean.zarr");
  EXPECT_EQ(place.path(), (root / "x.zip").string());
  const auto store =
      OpenSource(source, {.local = {.follow_path = false}, .folder = std::move(folder)});
  EXPECT_EQ(ReadAll(**store, "a"), "below");
}

TEST_F(SourceTest, AZipFileMayBeALinkAndIsWatchedWhereItIsNone) {
  fs::create_directory(outer / "elsewhere");
  fs::rename(root / "x.zip", outer / "elsewhere/data");
  fs::create_symlink(outer / "elsewhere/data", root / "x.zip");
  EXPECT_EQ(Seen("x.zip"), "at the root");
  EXPECT_TRUE(
      OpenSource(Source((root / "x.zip").string())).value()->Stat("a")->may_change_elsewhere);
  EXPECT_FALSE(OpenSource(Source((root / "folder.zip/y.OZX").string()))
                   .value()
                   ->Stat("a")
                   ->may_change_elsewhere);
}

TEST_F(SourceTest, OneWhoseFileMayNotBeReadAnyMoreIsOutOfReach) {
  int calls = 0;
  const auto store = OpenSource(Source((root / "x.zip").string()),
                                {.local = {.on_out_of_reach = [&] { ++calls; }}})
                         .value();
  EXPECT_EQ(ReadAll(*store, "a"), "at the root");
  EXPECT_EQ(calls, 0);
  Replace("x.zip", "");
  fs::permissions(root / "x.zip", fs::perms::none);
  fs::permissions(outer, fs::perms::all);
  // Root may read everything, so this thread becomes another user for a moment.
  const bool root_runs_this = geteuid() == 0;
  if (root_runs_this) setfsuid(65534);
  EXPECT_EQ(store->Stat("a").error().code, ErrorCode::kPermissionDenied);
  if (root_runs_this) setfsuid(0);
  EXPECT_GT(calls, 0);
}

}  // namespace
}  // namespace zarrfs::source_test
