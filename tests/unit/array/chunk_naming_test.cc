#include "zarrcore/array/chunk_naming.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace zarrfs::chunk_naming_test {
namespace {

using Coordinates = std::vector<uint64_t>;

TEST(ChunkNaming, PathsAreThoseOfTheKeyEncodings) {
  EXPECT_EQ((ChunkNaming{true, '/'}.Path(Coordinates{0, 3, 1})), "c/0/3/1");
  EXPECT_EQ((ChunkNaming{true, '.'}.Path(Coordinates{0, 3, 1})), "c.0.3.1");
  EXPECT_EQ((ChunkNaming{false, '/'}.Path(Coordinates{0, 3, 1})), "0/3/1");
  EXPECT_EQ((ChunkNaming{false, '.'}.Path(Coordinates{0, 3, 1})), "0.3.1");
  EXPECT_EQ((ChunkNaming{true, '/'}.Path({})), "c");
  EXPECT_EQ((ChunkNaming{false, '.'}.Path({})), "0");
}

TEST(ChunkNaming, OnlyNamesThatAPathHasAreParsed) {
  const Coordinates counts = {10, 20, 30};
  // The coordinates, or "-" if `name` is not the name of a chunk.
  const auto parsed = [&](const ChunkNaming& naming, std::string_view name, Coordinates prefix = {},
                          bool in_array = true) -> std::string {
    ChunkCoordinates at{};
    std::ranges::copy(prefix, at.begin());
    size_t level = prefix.size();
    if (!naming.Parse(counts, name, in_array, at, level)) return "-";
    return fmt::format("{}", fmt::join(at.begin(), at.begin() + level, " "));
  };
  EXPECT_EQ(parsed({false, '.'}, "9.0.29"), "9 0 29");
  EXPECT_EQ(parsed({true, '.'}, "c.9.0.29"), "9 0 29");
  EXPECT_EQ(parsed({false, '/'}, "9"), "9");
  EXPECT_EQ(parsed({true, '/'}, "c"), "");
  EXPECT_EQ(parsed({false, '/'}, "0", {9}, false), "9 0");
  EXPECT_EQ(parsed({true, '/'}, "29", {9, 0}, false), "9 0 29");
  for (const std::string_view name :
       {"10.0.0", "0.20.0", "0.0.30", "00.0.0", "0.0", "0.0.0.0", "0.0.0.", ".0.0", "0..0",
        "+1.0.0", " 0.0.0", "0/0/0", "c.0.0.0", "", "18446744073709551616.0.0"}) {
    EXPECT_EQ(parsed({false, '.'}, name), "-") << name;
  }
  EXPECT_EQ(parsed({true, '.'}, "0.0.0"), "-");
  EXPECT_EQ(parsed({true, '/'}, "c0"), "-");
  EXPECT_EQ(parsed({false, '/'}, "0.0"), "-");
  EXPECT_EQ(parsed({false, '/'}, "20", {9}, false), "-");
}

TEST(ChunkNaming, WholePathsAreParsedBackAndNothingElseIs) {
  const Coordinates counts = {10, 20, 30};
  const Coordinates wanted = {9, 0, 29};
  for (const bool prefix_c : {false, true}) {
    for (const char separator : {'/', '.'}) {
      const ChunkNaming naming{prefix_c, separator};
      const std::string path = naming.Path(wanted);
      ChunkCoordinates at{};
      ASSERT_TRUE(naming.ParsePath(counts, path, at)) << path;
      EXPECT_TRUE(std::ranges::equal(wanted, std::span(at).first(3))) << path;
      for (const std::string& other : {path + "/0", path + ".0", path + "/", "/" + path, "x" + path,
                                       path.substr(0, path.size() - 3), std::string("c"),
                                       std::string(), std::string("c/"), std::string("10/0/0")}) {
        EXPECT_FALSE(naming.ParsePath(counts, other, at)) << other << " as " << path;
      }
      EXPECT_TRUE(naming.ParsePath({}, naming.Path({}), at));
      EXPECT_FALSE(naming.ParsePath({}, prefix_c ? "0" : "c", at));
    }
  }
}

TEST(ChunkNaming, KeysMayHaveASuffix) {
  const Coordinates counts = {10, 20};
  const Coordinates wanted = {9, 10};
  for (const auto& [naming, path] : std::vector<std::pair<ChunkNaming, std::string>>{
           {{true, '/', ".tiff"}, "c/9/10.tiff"},
           {{true, '.', ".tiff"}, "c.9.10.tiff"},
           {{false, '/', "_0"}, "9/10_0"},
           {{false, '.', ".shard.zip"}, "9.10.shard.zip"}}) {
    EXPECT_EQ(naming.Path(wanted), path);
    ChunkCoordinates at{};
    EXPECT_TRUE(naming.ParsePath(counts, path, at)) << path;
    EXPECT_TRUE(std::ranges::equal(wanted, std::span(at).first(2))) << path;
    for (const std::string& other :
         {path.substr(0, path.size() - naming.suffix.size()), path + naming.suffix, path + "x"}) {
      EXPECT_FALSE(naming.ParsePath(counts, other, at)) << other;
    }
    EXPECT_TRUE(naming.ParsePath({}, naming.Path({}), at)) << naming.Path({});
  }
  size_t level = 0;
  ChunkCoordinates at{};
  EXPECT_TRUE((ChunkNaming{true, '/', ".tiff"}.ParsePrefix(counts, "c/9", at, level)));
  EXPECT_EQ(level, 1U);
}

}  // namespace
}  // namespace zarrfs::chunk_naming_test
