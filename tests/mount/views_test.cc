// Files that differ from the stored objects: chunks of fill values, and decoded chunks.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"
#include "zarrcore/view/view.h"

namespace zarrfs::views_test {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kTtl{0.3};

struct stat StatOf(const fs::path& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info;
}

// A store with an array of 3 x 5 bytes in chunks of 1 x 2, with the fill value 7 and names of
// dimensions. Only the chunks 0.0 ("ab") and 2.2 ("yz", of which z is beyond the array) are stored.
class ViewsTest : public testing::Test {
 protected:
  ViewsTest() {
    const SampleArray array{.shape = {3, 5}, .shard = {2, 4}, .chunk = {1, 2}, .compressed = false};
    std::string json = array.ZarrJson();
    const std::string zero = R"("fill_value": 0)";
    json.replace(json.find(zero), zero.size(), R"("fill_value": 7, "dimension_names": ["y", "x"])");
    Replace(store_ / "zarr.json", GroupJson());
    Replace(store_ / "a/zarr.json", json);
    Replace(store_ / "a/c/0/0", EncodeShard(4, {{0, "ab"}}));
    Replace(store_ / "a/c/1/1", EncodeShard(4, {{0, "yz"}}));
  }

  static std::set<std::string> Names(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      EXPECT_TRUE(names.insert(entry.path().filename()).second) << entry.path();
    }
    return names;
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store";
  const std::set<std::string> all_ = {".zarray", ".zattrs", "0.0", "0.1", "0.2", "1.0",
                                      "1.1",     "1.2",     "2.0", "2.1", "2.2"};
};

TEST_F(ViewsTest, ChunksThatAreNotStoredAreFilesWhereTheirFillValueWouldBeMasked) {
  const TestMount mount(store_);
  EXPECT_EQ(Names(mount / "v2/a"), all_);
  EXPECT_EQ(ReadFile(mount / "v2/a/0.0"), "ab");
  EXPECT_EQ(ReadFile(mount / "v2/a/2.2"), "yz");
  for (const char* name : {"0.1", "1.0", "2.0"}) {
    EXPECT_EQ(StatOf(mount / "v2/a" / name).st_size, 2) << name;
    EXPECT_EQ(ReadFile(mount / "v2/a" / name), "\7\7") << name;
  }
  EXPECT_FALSE(fs::exists(mount / "v2/a/0.3"));
  EXPECT_FALSE(fs::exists(mount / "v2/a/3.0"));
  EXPECT_FALSE(fs::exists(mount / "v3/a/c/0/1")) << "there nothing is masked";
  EXPECT_EQ(ReadFile(mount / "v3/a/c/0/0"), "ab");
}

TEST_F(ViewsTest, WithFillKeepChunksThatAreNotStoredHaveNoFiles) {
  const TestMount mount(store_, "fill=keep");
  EXPECT_EQ(Names(mount / "v2/a"), (std::set<std::string>{".zarray", ".zattrs", "0.0", "2.2"}));
  EXPECT_FALSE(fs::exists(mount / "v2/a/0.1"));
}

TEST_F(ViewsTest, FilesOfTheFillValueAreListedInFoldersToo) {
  const TestMount mount(store_, "separator=/,view=v2");
  EXPECT_EQ(Names(mount / "a"), (std::set<std::string>{".zarray", ".zattrs", "0", "1", "2"}));
  for (const char* row : {"0", "1", "2"}) {
    EXPECT_EQ(Names(mount / "a" / row), (std::set<std::string>{"0", "1", "2"})) << row;
  }
  EXPECT_EQ(ReadFile(mount / "a/1/2"), "\7\7");
  EXPECT_EQ(Shell("find " + mount.path().string() + " -type f -size 2c | wc -l").output, "9\n");
}

TEST_F(ViewsTest, AChunkThatIsStoredLaterTakesThePlaceOfTheFillValue) {
  const TestMount mount(store_, "ttl=0.3");
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), "\7\7");
  const uint64_t before = StatOf(mount / "v2/a/0.1").st_ino;
  Replace(store_ / "a/c/0/0", EncodeShard(4, {{1, "cd"}}));
  SleepFor(kTtl + Seconds(0.05));
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), "cd");
  EXPECT_NE(StatOf(mount / "v2/a/0.1").st_ino, before);
  EXPECT_EQ(ReadFile(mount / "v2/a/0.0"), "\7\7") << "the new shard does not have it";
}

TEST_F(ViewsTest, TheRootListsTheViewsThatAreNamedAndHasAll) {
  const TestMount mount(store_, "views=v3:v2");
  EXPECT_EQ(Names(mount.path()), (std::set<std::string>{"v2", "v3"}));
  const auto links = [&](const char* file) { return StatOf(mount / file).st_nlink; };
  EXPECT_EQ(links("v2/a/0.0"), 2U) << "names that a walk of the mount meets";
  for (const View* const view : AllViews()) {
    const std::string name(view->name());
    if (view->file_of() != FileOf::kNothing) {
      EXPECT_FALSE(Names(mount / name).empty()) << name;
      continue;
    }
    EXPECT_FALSE(Names(mount / name / "a").empty()) << name;
    const fs::path chunk = mount / name / (name == "v3" ? "a/c/0/0" : "a/0.0");
    EXPECT_EQ(ReadFile(chunk), "ab") << name;
    EXPECT_GE(StatOf(chunk).st_nlink, 1U) << name;
  }
  EXPECT_FALSE(fs::exists(mount / "v4"));
}

// The fill value is "", which has no bytes. So the array looks nearly the same with and without
// files for chunks that are not stored.
TEST_F(ViewsTest, AnArrayWhoseFillAttributeIsRemovedFollowsTheNewRule) {
  const auto json = [](const std::string& attributes) {
    return R"({"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "string",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": "", "codecs": ["vlen-utf8"],
        "dimension_names": ["x"], "attributes": )" +
           attributes + "}";
  };
  Replace(store_ / "s/zarr.json", json(R"({"_FillValue": ""})"));
  const TestMount mount(store_, "ttl=0.3");
  EXPECT_EQ(Names(mount / "v2/s"), (std::set<std::string>{".zarray", ".zattrs"}));
  EXPECT_NE(ReadFile(mount / "v2/s/.zarray").find(R"("fill_value": "")"), std::string::npos);
  Replace(store_ / "s/zarr.json", json("{}"));
  SleepFor(kTtl + Seconds(0.05));
  EXPECT_NE(ReadFile(mount / "v2/s/.zarray").find(R"("fill_value": null)"), std::string::npos);
  const std::string one_empty_text("\1\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(ReadFile(mount / "v2/s/1"), one_empty_text);
  EXPECT_EQ(Names(mount / "v2/s"), (std::set<std::string>{".zarray", ".zattrs", "0", "1"}));
}

TEST_F(ViewsTest, AttributesThatAreBrokenHideNothing) {
  Replace(store_ / "zarr.json",
          R"({"zarr_format": 3, "node_type": "group", "attributes": {"a": "\ud83d", "b": 1e999}})");
  Replace(store_ / "old/.zgroup", R"({"zarr_format": 2})");
  Replace(store_ / "old/.zattrs", R"({"half": )");
  Replace(store_ / "old/b/zarr.json", ReadFile(store_ / "a/zarr.json"));
  const TestMount mount(store_);
  for (const char* array : {"v2/a", "v3/a", "v2/old/b", "v3/old/b"}) {
    EXPECT_TRUE(fs::is_directory(mount / array)) << array;
  }
  EXPECT_EQ(ReadFile(mount / "v2/.zattrs"), "{\n  \"a\": \"\\ufffd\",\n  \"b\": Infinity\n}\n");
  EXPECT_TRUE(fs::is_directory(mount / "v2/old/b")) << "asked for twice";
  const std::string errors = ReadFile(mount / ".zarrfs/errors");
  for (const char* what :
       {"zarr.json: 1e999 is read as Infinity",
        "zarr.json: half a surrogate pair is read as U+FFFD", "old/.zattrs: not JSON"}) {
    const size_t at = errors.find(what);
    EXPECT_NE(at, std::string::npos) << errors;
    EXPECT_EQ(errors.find(what, at + 1), std::string::npos) << "once: " << errors;
  }
}

TEST_F(ViewsTest, NodesWhoseNamesBeginWithTwoUnderscoresAreShownAndNoOtherNameIsHiddenInSilence) {
  const std::string array = ReadFile(store_ / "a/zarr.json");
  for (const char* name : {"__xarray_dataarray_variable__", ".zattrs", "..."}) {
    Replace(store_ / name / "zarr.json", array);
  }
  const TestMount mount(store_);
  EXPECT_EQ(Names(mount / "v3"),
            (std::set<std::string>{"__xarray_dataarray_variable__", ".zattrs", "a", "zarr.json"}));
  EXPECT_TRUE(fs::is_directory(mount / "v2/__xarray_dataarray_variable__"));
  const std::string errors = ReadFile(mount / ".zarrfs/errors");
  EXPECT_NE(errors.find(".zattrs: not shown in v2, gdal, netcdf"), std::string::npos) << errors;
  EXPECT_NE(errors.find("...: not shown: not a valid node name"), std::string::npos);
}

TEST_F(ViewsTest, ViewsOfReadersThatKnowLessHaveDecodedElements) {
  const TestMount mount(store_);
  EXPECT_EQ(ReadFile(mount / "netcdf/a/2.2"), "yz");
  EXPECT_EQ(ReadFile(mount / "gdal/a/2.2"), "yz");
  EXPECT_EQ(ReadFile(mount / "gdal/a/0.1"), "\7\7") << "it would take zeros";
  // Chunks that reach beyond the array are cropped for netCDF only.
  const SampleArray small{.shape = {3}, .shard = {8}, .chunk = {4}, .compressed = false};
  Replace(store_ / "b/zarr.json", small.ZarrJson());
  Replace(store_ / "b/c/0", EncodeShard(2, {{0, "abcd"}}));
  const TestMount with_small(store_);
  EXPECT_EQ(ReadFile(with_small / "netcdf/b/0"), "abc");
  EXPECT_EQ(StatOf(with_small / "netcdf/b/0").st_size, 3);
  EXPECT_EQ(ReadFile(with_small / "v2/b/0"), "abcd");
}

TEST_F(ViewsTest, AChunkThatDoesNotDecodeGivesAnErrorInTheViewsThatDecodeIt) {
  const SampleArray array{.shape = {4}, .shard = {4}, .chunk = {2}};
  Replace(store_ / "b/zarr.json", array.ZarrJson());
  Replace(store_ / "b/c/0", EncodeShard(2, {{0, "no gzip"}}));
  const TestMount mount(store_);
  EXPECT_EQ(ReadFile(mount / "v2/b/0"), "no gzip");
  EXPECT_EQ(StatOf(mount / "netcdf/b/0").st_size, 2) << "its size is known";
  EXPECT_NE(Shell("cat " + (mount / "netcdf/b/0").string()).code, 0);
  EXPECT_NE(ReadFile(mount / ".zarrfs/errors").find("b/c/0"), std::string::npos);
}

}  // namespace
}  // namespace zarrfs::views_test
