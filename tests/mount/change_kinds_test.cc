// Changes every kind of stored object in every way, with default options. Soon after each change,
// all files of all views must be those that a new mount of the store shows.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::change_kinds_test {
namespace {

namespace fs = std::filesystem;

const Seconds kSoon{30};

// --- A store with every kind of file that a view shows

std::string ArrayJson(const std::string& codecs, const std::string& rest) {
  return fmt::format(
      R"({{"zarr_format": 3, "node_type": "array", "shape": [4], "chunk_grid": {{"name": "regular",
"configuration": {{"chunk_shape": [2]}}}}, "chunk_key_encoding": {{"name": "default"}},
"dimension_names": ["x"], "codecs": [{}], {}}})",
      codecs, rest);
}

std::string Numbers(const std::string& attributes) {
  return ArrayJson(R"({"name": "bytes", "configuration": {"endian": "little"}})",
                   R"("data_type": "int16", "fill_value": 7, "attributes": )" + attributes);
}

std::string Texts(const std::string& attributes) {
  return ArrayJson(R"({"name": "vlen-utf8"})",
                   R"("data_type": "string", "fill_value": "", "attributes": )" + attributes);
}

// A chunk of two strings, encoded by the codec "vlen-utf8".
std::string TwoTexts(const std::string& one, const std::string& other) {
  std::string bytes("\2\0\0\0", 4);
  for (const std::string& text : {one, other}) {
    bytes += std::string{static_cast<char>(text.size()), '\0', '\0', '\0'} + text;
  }
  return bytes;
}

// The zarr.json of a sharded array of bytes that are not compressed.
std::string Sharded(const std::string& attributes) {
  SampleArray array{.shape = {4}, .shard = {4}, .chunk = {2}, .compressed = false};
  array.attributes = attributes;
  return array.ZarrJson();
}

std::string OmeGroup(const std::string& more) {
  return R"({"zarr_format": 3, "node_type": "group", "attributes":
      {"ome": {"version": "0.5", "bioformats2raw.layout": 3}, "more": ")" +
         more + R"("}})";
}

// A stored object, with its bytes before and after the change.
struct Kind {
  std::string key;
  std::string before;
  std::string after;
};

std::vector<Kind> KindsOfV3() {
  return {
      {"zarr.json", OmeGroup("before"), OmeGroup("after, longer")},
      {"OME/zarr.json", GroupJson(), R"({"zarr_format": 3, "node_type": "group"})"},
      {"OME/METADATA.ome.xml", "<before/>", "<after_and_longer/>"},
      {"numbers/zarr.json", Numbers(R"({"units": "m"})"), Numbers(R"({"units": "km"})")},
      {"numbers/c/0", std::string("\1\0\2\0", 4), std::string("\3\0\4\0", 4)},
      {"texts/zarr.json", Texts("{}"), Texts(R"({"a": "b"})")},
      {"texts/c/0", TwoTexts("a", "b"), TwoTexts("longer", "b")},
      {"shards/zarr.json", Sharded("{}"), Sharded(R"({"a": "b"})")},
      {"shards/c/0", EncodeShard(2, {{0, "ab"}}), EncodeShard(2, {{0, "cd"}, {1, "ef"}})},
  };
}

// An array whose coordinate system comes from a variable before the change, and from its group
// after it.
std::vector<Kind> KindsOfRasters() {
  const auto group = [](const std::string& code) {
    return R"({"zarr_format": 3, "node_type": "group", "attributes": {"proj:code": ")" + code +
           R"("}})";
  };
  const auto raster = [](const std::string& attributes) {
    return SampleArray{.shape = {2, 2}, .shard = {2, 2}, .chunk = {2, 2}, .attributes = attributes}
        .ZarrJson();
  };
  return {
      {"zarr.json", group("EPSG:4326"), group("EPSG:32633")},
      {"crs/zarr.json", Numbers(R"({"crs_wkt": "before"})"), Numbers(R"({"crs_wkt": "after it"})")},
      {"raster/zarr.json", raster(R"({"grid_mapping": "crs"})"), raster("{}")},
  };
}

std::vector<Kind> KindsOfV2() {
  const auto zarray = [](const std::string& fill) {
    return R"({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i2", "order": "C",
        "compressor": null, "filters": null, "fill_value": )" +
           fill + "}";
  };
  const std::string group = R"({"zarr_format": 2})";
  const std::string names = R"("_ARRAY_DIMENSIONS": ["x"])";
  return {
      {".zgroup", group, group + "\n"},
      {".zattrs", R"({"title": "before"})", R"({"title": "after, longer"})"},
      {"a/.zarray", zarray("1"), zarray("2")},
      {"a/.zattrs", "{" + names + "}", "{" + names + R"(, "units": "m"})"},
      {"a/0", std::string("\1\0\2\0", 4), std::string("\3\0\4\0", 4)},
  };
}

// --- What a mount shows

std::string BytesOrError(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fmt::format("open: {}", std::strerror(errno));
  std::string bytes;
  std::vector<char> part(65536);
  ssize_t have = 0;
  while ((have = read(fd, part.data(), part.size())) > 0) {
    bytes.append(part.data(), static_cast<size_t>(have));
  }
  if (have < 0) bytes += fmt::format("read: {}", std::strerror(errno));
  close(fd);
  return bytes;
}

using Files = std::map<std::string, std::string>;

void AddFiles(const fs::path& folder, const std::string& name, Files& files) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string below = name + "/" + at->path().filename().string();
    if (at->is_directory(error)) {
      AddFiles(at->path(), below, files);
    } else {
      files[below] = BytesOrError(at->path());
    }
  }
  if (error) files[name] = error.message();
}

Files FilesOf(const TestMount& mount) {
  Files files;
  for (const std::string view : {"v2", "v3", "gdal", "netcdf", "java", "nc", "npy"}) {
    AddFiles(mount / view, view, files);
  }
  return files;
}

// The first difference; "" if there is none.
std::string Difference(const Files& found, const Files& expected) {
  for (const auto& [name, bytes] : expected) {
    const auto same = found.find(name);
    if (same == found.end()) return name + " is not there";
    if (same->second != bytes) return name + " has other bytes";
  }
  for (const auto& [name, bytes] : found) {
    if (!expected.contains(name)) return name + " is still there";
  }
  return "";
}

class ChangeKindsTest : public testing::Test {
 protected:
  void WriteAll(const std::vector<Kind>& kinds) const {
    for (const Kind& kind : kinds) Replace(store_ / kind.key, kind.before);
  }

  // Expects that `mount` soon shows the files of a new mount and, unless `may_stay`, that one of
  // them differs from `before`.
  void ExpectAsNew(const TestMount& mount, const std::string& what, Files& before,
                   bool may_stay = false) const {
    SleepFor(Seconds(0.05));  // racy versions are not cached
    const Files expected = FilesOf(TestMount(store_));
    std::string difference;
    Eventually(kSoon, [&] {
      difference = Difference(FilesOf(mount), expected);
      return difference.empty();
    });
    EXPECT_EQ(difference, "") << what;
    EXPECT_TRUE(may_stay || Difference(before, expected) != "") << what << " changes nothing";
    before = expected;
  }

  void ChangeEach(const std::vector<Kind>& kinds) const {
    WriteAll(kinds);
    SleepFor(Seconds(0.05));
    const TestMount mount(store_);
    Files files = FilesOf(mount);
    for (const Kind& kind : kinds) {
      const fs::path path = store_ / kind.key;
      const bool may_stay = kind.key == "OME/zarr.json" || kind.key == ".zgroup";
      Replace(path, kind.after);
      ExpectAsNew(mount, kind.key + " replaced", files, may_stay);
      RewriteInPlace(path, kind.before);
      ExpectAsNew(mount, kind.key + " rewritten", files, may_stay);
      fs::remove(path);
      ExpectAsNew(mount, kind.key + " removed", files, may_stay);
      Replace(path, kind.after);
      ExpectAsNew(mount, kind.key + " added", files, may_stay);
      Replace(store_ / ".other/object", kind.before);
      fs::remove(path);
      fs::create_symlink(store_ / ".other/object", path);
      ExpectAsNew(mount, kind.key + " linked", files, may_stay);
      fs::remove(path);
      Replace(path, kind.before);
      ExpectAsNew(mount, kind.key + " as it was", files, /*may_stay=*/true);
    }
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
};

TEST_F(ChangeKindsTest, EveryFileOfEveryViewFollowsEachChangeOfWhatItIsMadeFrom) {
  ChangeEach(KindsOfV3());
}

TEST_F(ChangeKindsTest, SoDoThoseOfZarrV2) { ChangeEach(KindsOfV2()); }

TEST_F(ChangeKindsTest, SoDoCoordinateSystemsThatOtherNodesHave) { ChangeEach(KindsOfRasters()); }

TEST_F(ChangeKindsTest, AnotherFileSystemOverAPartOfTheStoreIsSeen) {
  WriteAll(KindsOfV3());
  const fs::path other = folder_ / "other";
  Replace(other / "zarr.json", Sharded(R"({"is": "the other"})"));
  Replace(other / "c/0", EncodeShard(2, {{0, "12"}, {1, "34"}}));
  SleepFor(Seconds(0.05));
  const TestMount mount(store_);
  Files files = FilesOf(mount);
  {
    const Unmounted bound(store_ / "shards");
    ASSERT_EQ(::mount(other.c_str(), (store_ / "shards").c_str(), nullptr, MS_BIND, nullptr), 0)
        << std::strerror(errno);
    ExpectAsNew(mount, "bound", files);
    EXPECT_EQ(BytesOrError(mount / "v3/shards/c/1"), "34");
    // Detaches, because shards that were read stay open for a moment.
    EXPECT_EQ(umount2((store_ / "shards").c_str(), MNT_DETACH), 0) << std::strerror(errno);
    ExpectAsNew(mount, "unmounted", files);
  }
  {
    const Unmounted bound(store_);
    ASSERT_EQ(::mount(other.c_str(), store_.c_str(), nullptr, MS_BIND, nullptr), 0)
        << std::strerror(errno);
    ExpectAsNew(mount, "bound over the store", files);
  }
  ExpectAsNew(mount, "unmounted from the store", files);
}

}  // namespace
}  // namespace zarrfs::change_kinds_test
