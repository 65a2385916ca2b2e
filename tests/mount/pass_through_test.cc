// Stores that a view passes through: the view's files are those of the store.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::pass_through_test {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

Files FilesOf(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[entry.path().lexically_relative(folder)] = ReadFile(entry.path());
    }
  }
  return files;
}

constexpr Seconds kLimit{10};

// A store with three arrays: one of 2 x 2 chunks of 4 bytes, of which 1.0 is not stored; one with
// an unknown codec, in nested folders; and a scalar.
class PassThroughTest : public testing::Test {
 protected:
  PassThroughTest() {
    Replace(store_ / ".zgroup", "{\"zarr_format\":2}\n\n");
    Replace(store_ / ".zattrs", "{ \"caf\xc3\xa9\": 1.50 }");
    Replace(store_ / "a/.zarray", Zarray("[4, 4]", "[2, 2]", "null"));
    for (const char* chunk : {"0.0", "0.1", "1.1"}) Replace(store_ / "a" / chunk, "abcd");
    Replace(store_ / "g/.zgroup", R"({"zarr_format": 2})");
    Replace(store_ / "g/unknown/.zarray", Zarray("[4, 4]", "[2, 2]", R"({"id": "foo"})", "/"));
    Replace(store_ / "g/unknown/.zattrs", "{}");
    Replace(store_ / "g/unknown/0/1", "whatever");
    Replace(store_ / "g/unknown/1/0", "");
    Replace(store_ / "scalar/.zarray", Zarray("[]", "[]", "null"));
    Replace(store_ / "scalar/0", "x");
  }

  static std::string Zarray(const std::string& shape, const std::string& chunks,
                            const std::string& compressor, const std::string& separator = ".") {
    return R"({"zarr_format":2, "dtype":"|u1", "fill_value":7, "order":"C", "filters":null, "shape":)" +
           shape + R"(,"chunks":)" + chunks + R"(,"compressor":)" + compressor +
           R"(,"dimension_separator":")" + separator + "\"}";
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "store";
};

TEST_F(PassThroughTest, FilesOfAV2StoreAreTheStoredOnes) {
  const TestMount mount(store_);
  EXPECT_EQ(FilesOf(mount / "v2"), FilesOf(store_));
  EXPECT_FALSE(fs::exists(mount / "v2/a/1.0"));
  EXPECT_FALSE(fs::exists(mount / "v2/a/.zattrs"));
  EXPECT_FALSE(fs::exists(mount / "v2/.zmetadata"));
  EXPECT_FALSE(fs::exists(mount / "v3/g/unknown"));
}

TEST_F(PassThroughTest, NoOptionButTheSeparatorChangesAV2Store) {
  Replace(store_ / ".zmetadata", "stale");
  for (const std::string options : {"fill=materialize", "consolidated=no"}) {
    const TestMount mount(store_, "view=v2," + options);
    Files shown = FilesOf(mount.path());
    EXPECT_NE(shown[".zmetadata"].find(R"("g/unknown/.zattrs": {})"), std::string::npos);
    shown[".zmetadata"] = "stale";
    EXPECT_EQ(shown, FilesOf(store_)) << options;
  }
  const TestMount mount(store_, "separator=/,view=v2");
  EXPECT_EQ(ReadFile(mount / "a/0/1"), "abcd");
  EXPECT_NE(ReadFile(mount / "a/.zarray").find(R"("dimension_separator": "/")"), std::string::npos);
  EXPECT_EQ(ReadFile(mount / "g/unknown/.zarray"), ReadFile(store_ / "g/unknown/.zarray"));
}

TEST_F(PassThroughTest, ChunkOfAnImpossibleSizeIsServedToV2AsItIs) {
  Replace(store_ / "a/0.0", "");
  Replace(store_ / "a/0.1", "too long");
  const TestMount mount(store_);
  EXPECT_EQ(fs::file_size(mount / "v2/a/0.0"), 0U);
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), "too long");
  EXPECT_TRUE(fs::exists(mount / "v3/a/0.1"));
  EXPECT_EQ(ReadFile(mount / "v3/a/0.1"), "") << "cannot be read";
  EXPECT_EQ(FilesOf(mount / "v2"), FilesOf(store_));
  EXPECT_NE(ReadFile(mount / ".zarrfs/errors").find("a/0.1: the chunk has 8 bytes, expected 4"),
            std::string::npos);
}

TEST_F(PassThroughTest, ChangesOfV2DocumentsAreSeen) {
  const TestMount mount(store_);
  const auto is_same = [&] { return FilesOf(mount / "v2") == FilesOf(store_); };
  EXPECT_TRUE(is_same());
  Replace(store_ / "a/.zattrs", "{}");
  EXPECT_TRUE(Eventually(kLimit, is_same)) << "attributes appear";
  Replace(store_ / "a/.zattrs", "{ }");
  EXPECT_TRUE(Eventually(kLimit, is_same)) << "other bytes that mean the same";
  fs::remove(store_ / "a/.zattrs");
  EXPECT_TRUE(Eventually(kLimit, is_same)) << "attributes vanish";
  Replace(store_ / "g/.zmetadata", "{}");
  EXPECT_TRUE(Eventually(kLimit, [&] { return fs::exists(mount / "v2/g/.zmetadata"); }));
  fs::remove(store_ / "g/.zmetadata");
  EXPECT_TRUE(Eventually(kLimit, is_same));
}

TEST_F(PassThroughTest, FilesOfAnUnshardedV3StoreAreTheStoredOnes) {
  const fs::path store = folder_ / "v3";
  Replace(store / "zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  Replace(store / "a/zarr.json", R"({"zarr_format":3,"node_type":"array","shape":[4],
    "data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
    "chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]})");
  Replace(store / "a/c/1", "yz");
  const TestMount mount(store);
  EXPECT_EQ(FilesOf(mount / "v3"), FilesOf(store));
}

}  // namespace
}  // namespace zarrfs::pass_through_test
