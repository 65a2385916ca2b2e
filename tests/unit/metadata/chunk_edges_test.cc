#include "zarrcore/metadata/chunk_edges.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/metadata/metadata_testing.h"

namespace zarrfs::chunk_edges_test {
namespace {

using Runs = std::vector<EdgeRun>;

Result<Runs> Parse(std::string_view text, uint64_t extent) {
  return ParseChunkEdges(*ParseJson(text, "literal"), extent, "a/zarr.json");
}

Runs Parsed(std::string_view text, uint64_t extent) {
  const auto runs = Parse(text, extent);
  EXPECT_TRUE(runs) << text << (runs ? "" : runs.error().message);
  return runs ? *runs : Runs{};
}

// The examples of the specification, for an extent of 6.
TEST(ChunkEdges, EverySpellingIsRead) {
  EXPECT_EQ(Parsed("4", 6), (Runs{{0, 4}}));
  EXPECT_EQ(Parsed("[1, 2, 3]", 6), (Runs{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(Parsed("[[4, 2]]", 6), (Runs{{0, 4}}));
  EXPECT_EQ(Parsed("[[1, 3], 3]", 6), (Runs{{0, 1}, {3, 3}}));
  EXPECT_EQ(Parsed("[4, 4, 4]", 6), (Runs{{0, 4}}));
  EXPECT_EQ(Parsed("[1.0, [1.0, 2.0], 3.0]", 6), (Runs{{0, 1}, {3, 3}})) << "some write 1.0";
}

TEST(ChunkEdges, NeighboursOfOneLengthAreOneRun) {
  EXPECT_EQ(Parsed("[2, [2, 3], 2, 4, 2]", 16), (Runs{{0, 2}, {5, 4}, {6, 2}}));
}

TEST(ChunkEdges, ChunksOutsideTheArrayAreLeftOut) {
  EXPECT_EQ(Parsed("[4, 6, 8]", 10), (Runs{{0, 4}, {1, 6}}));
  EXPECT_EQ(Parsed("[4, 6, 8]", 11), (Runs{{0, 4}, {1, 6}, {2, 8}}));
  EXPECT_EQ(Parsed("[4, 6, 8]", 0), (Runs{{0, 4}})) << "an array without elements";
}

// An array that grows by chunks of the last length therefore keeps its runs.
TEST(ChunkEdges, RunsDoNotSayHowManyTheLastOnesAre) {
  EXPECT_EQ(Parsed("[4, [6, 2]]", 16), Parsed("[4, [6, 1000]]", 6004));
}

TEST(ChunkEdges, WhatCannotBeIsDamaged) {
  const struct {
    const char *text, *reason;
  } cases[] = {
      {"0", "found 0"},
      {"-4", "found -4"},
      {"4.5", "found 4.5"},
      {"null", "found null"},
      {"\"4\"", "found"},
      {"{}", "found {}"},
      {"9223372036854775808", "positive integers below 2^63"},
      {"[]", "at least 10, as in shape, found 0"},
      {"[4]", "at least 10, as in shape, found 4"},
      {"[4, 0, 6]", "found 0"},
      {"[4, -6, 12]", "found -6"},
      {"[4, NaN]", "positive integers"},
      {"[[4, 0], 10]", "found [4"},
      {"[[0, 4], 10]", "found [0"},
      {"[[4, -1], 10]", "found [4"},
      {"[[4], 10]", "found [4]"},
      {"[[4, 1, 1], 10]", "found [4"},
      {"[[[4, 1], 1], 10]", "found ["},
      {"[[9223372036854775807, 9223372036854775807]]", "sum up to less than 2^63"},
      {"[[4294967296, 4294967296]]", "sum up to less than 2^63"},
      {"[10, 9223372036854775807]", "sum up to less than 2^63"},
      {"[10, [1, 9223372036854775807]]", "sum up to less than 2^63"},
  };
  for (const auto& [text, reason] : cases) {
    const auto runs = Parse(text, 10);
    ASSERT_FALSE(runs) << text;
    EXPECT_EQ(runs.error().code, ErrorCode::kDamaged) << text;
    EXPECT_TRUE(runs.error().message.starts_with("a/zarr.json: chunk_shapes: ")) << text;
    EXPECT_NE(runs.error().message.find(reason), std::string::npos) << runs.error().message;
  }
  EXPECT_FALSE(Parse("[]", 0));
}

TEST(ChunkEdges, CountsAreNotWrittenOut) {
  EXPECT_EQ(Parsed("[2, [1, 9223372036854775804], 1]", 9223372036854775807),
            (Runs{{0, 2}, {1, 1}}));
}

TEST(ChunkEdges, RunsAreBounded) {
  std::string text = "[1";
  for (size_t i = 1; i < kMaxEdgeRuns; ++i) text += i % 2 == 0 ? ",1" : ",2";
  EXPECT_EQ(Parsed(text + "]", kMaxEdgeRuns * 3 / 2).size(), kMaxEdgeRuns);
  const auto more = Parse(text + ",1]", kMaxEdgeRuns * 3 / 2 + 1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace zarrfs::chunk_edges_test
