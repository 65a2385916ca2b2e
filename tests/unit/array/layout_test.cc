#include "zarrcore/array/layout.h"

#include <gtest/gtest.h>

#include "tests/unit/array/array_testing.h"

namespace zarrfs::layout_test {
namespace {

using Shape = std::vector<uint64_t>;
using Axes = std::vector<size_t>;

void ExpectRefused(const ArrayMetadata& metadata, ErrorCode code, std::string_view reason) {
  const auto layout = MakeArrayLayout(metadata);
  ASSERT_FALSE(layout) << reason;
  EXPECT_EQ(layout.error().code, code) << layout.error().message;
  EXPECT_TRUE(Contains(layout.error().message, reason)) << layout.error().message;
}

std::string Transpose(std::string_view order) {
  return fmt::format(R"({{"name": "transpose", "configuration": {{"order": {}}}}})", order);
}

TEST(ArrayLayout, WithoutShardingStoredChunksAreTheInnermost) {
  const auto layout = LayoutOf(Array("[5, 7]", "[2, 7]", kBytesCodec));
  EXPECT_FALSE(layout.is_sharded());
  EXPECT_EQ(layout.inner_chunk_shape, (Shape{2, 7}));
  EXPECT_EQ(layout.outer_grid.counts(), (Shape{3, 1}));
  EXPECT_EQ(layout.inner_grid.counts(), (Shape{3, 1}));
  EXPECT_EQ(layout.inner_per_outer_count, 1U);
  ASSERT_TRUE(layout.inner_pipeline);
  EXPECT_EQ(layout.inner_pipeline->encoded_size(), 14U);
}

TEST(ArrayLayout, ChunksOfEdgeShardsOutsideTheArrayAreLeftOut) {
  const auto layout = LayoutOf(Array("[5, 9]", "[4, 6]", Sharding("[2, 3]", kBytesCodec)));
  EXPECT_EQ(layout.outer_grid.counts(), (Shape{2, 2}));
  EXPECT_EQ(layout.inner_grid.counts(), (Shape{3, 3}));
  EXPECT_EQ(layout.inner_per_outer, (Shape{2, 2}));
  EXPECT_EQ(layout.inner_per_outer_count, 4U);
  EXPECT_EQ(ToJson(layout.inner_codecs).dump(),
            ParseJson(fmt::format("[{}]", kBytesCodec), "")->dump());
  EXPECT_TRUE(layout.levels[0].index.at_end());
}

TEST(ArrayLayout, IndexLocationStartIsKept) {
  const auto layout =
      LayoutOf(Array("[4]", "[4]", Sharding("[2]", kBytesCodec, R"("index_location": "start")")));
  EXPECT_FALSE(layout.levels[0].index.at_end());
}

TEST(ArrayLayout, ShardsNest) {
  const auto layout =
      LayoutOf(Array("[16, 16]", "[8, 16]", Sharding("[4, 4]", Sharding("[2, 1]", kBytesCodec))));
  ASSERT_EQ(layout.levels.size(), 2U);
  EXPECT_EQ(layout.levels[0].counts, (Shape{2, 4}));
  EXPECT_EQ(layout.levels[1].counts, (Shape{2, 4}));
  EXPECT_EQ(layout.inner_per_outer, (Shape{4, 16}));
  EXPECT_EQ(layout.inner_chunk_shape, (Shape{2, 1}));
}

TEST(ArrayLayout, AFixedChecksumAfterTheShardIsNoPartOfIt) {
  const auto layout =
      LayoutOf(Array("[4]", "[4]", Sharding("[2]", kBytesCodec) + R"(, {"name": "crc32c"})"));
  EXPECT_EQ(layout.levels[0].trailing_checksum, 4U);
}

TEST(ArrayLayout, OtherBytesCodecsAfterTheShardAreForTheWholeOfIt) {
  const auto layout = LayoutOf(Array(
      "[4]", "[4]", Sharding("[2]", kBytesCodec) + R"(, {"name": "gzip"}, {"name": "crc32c"})"));
  EXPECT_EQ(layout.levels[0].trailing_checksum, 0U);
  EXPECT_FALSE(layout.levels[0].around.empty());
}

TEST(ArrayLayout, ATransposeBeforeShardingTurnsTheAxesOfTheIndex) {
  // The shard of [4, 6, 8] is transposed to [8, 4, 6] and divided into chunks of [2, 2, 3].
  const auto layout =
      LayoutOf(Array("[4, 6, 8]", "[4, 6, 8]",
                     Transpose("[2, 0, 1]") + ", " + Sharding("[2, 2, 3]", kBytesCodec)));
  EXPECT_EQ(layout.levels[0].axes, (Axes{2, 0, 1}));
  EXPECT_EQ(layout.levels[0].counts, (Shape{4, 2, 2}));
  EXPECT_EQ(layout.inner_chunk_shape, (Shape{2, 3, 2}));
  EXPECT_EQ(layout.inner_per_outer, (Shape{2, 2, 4}));
  EXPECT_EQ(ToJson(layout.inner_codecs)[0].dump(),
            R"({"name":"transpose","configuration":{"order":[2,0,1]}})");
}

TEST(ArrayLayout, TransposesThatUndoEachOtherLeaveNoTrace) {
  const auto layout = LayoutOf(Array("[4, 6, 8]", "[4, 6, 8]",
                                     Transpose("[2, 0, 1]") + ", " + Transpose("[1, 2, 0]") + ", " +
                                         Sharding("[2, 2, 4]", kBytesCodec)));
  EXPECT_EQ(layout.levels[0].axes, (Axes{0, 1, 2}));
  EXPECT_EQ(layout.inner_codecs[0].name, "bytes");
}

TEST(ArrayLayout, RankZeroCanBeSharded) {
  const auto layout = LayoutOf(Array("[]", "[]", Sharding("[]", kBytesCodec)));
  EXPECT_EQ(layout.levels[0].index.entries(), 1U);
  EXPECT_EQ(layout.inner_grid.size(), 1U);
}

TEST(ArrayLayout, UnknownInnerCodecsLeaveThePipelineOut) {
  const auto layout = LayoutOf(
      Array("[4]", "[4]", Sharding("[2]", std::string(kBytesCodec) + R"(, {"name": "fancy"})")));
  ASSERT_FALSE(layout.inner_pipeline);
  EXPECT_EQ(layout.inner_pipeline.error().message, "codec 'fancy' is not known");
}

TEST(ArrayLayout, InnerChunksThatDoNotDivideTheShardAreRefused) {
  ExpectRefused(Array("[8, 8]", "[8, 8]", Sharding("[8, 3]", kBytesCodec)), ErrorCode::kUnsupported,
                "inner chunk shape [8, 3] does not divide the shard shape [8, 8]");
  ExpectRefused(Array("[8]", "[8]", Sharding("[16]", kBytesCodec)), ErrorCode::kUnsupported,
                "does not divide");
  ExpectRefused(Array("[8]", "[8]", Sharding("[4]", Sharding("[3]", kBytesCodec))),
                ErrorCode::kUnsupported, "does not divide");
}

TEST(ArrayLayout, CodecsAroundTheShardsThatHideTheirBytesAreRefused) {
  const std::string gzip = ", " + std::string(kGzipCodec);
  ExpectRefused(Array("[4]", "[4]", Sharding("[4]", Sharding("[2]", kBytesCodec) + gzip)),
                ErrorCode::kUnsupported, "codec 'gzip' after a nested sharding_indexed");
  ExpectRefused(Array("[4]", "[4]", Sharding("[2]", kBytesCodec) + R"(, {"name": "fancy"})"),
                ErrorCode::kUnsupported, "codec 'fancy' is not a known bytes -> bytes codec");
  ExpectRefused(Array("[4]", "[4]", R"({"name": "delta"}, )" + Sharding("[2]", kBytesCodec)),
                ErrorCode::kUnsupported, "codec 'delta' before sharding_indexed");
  ExpectRefused(Array("[4]", "[4]",
                      Sharding("[2]", kBytesCodec) +
                          R"(, {"name": "crc32c", "configuration": {"location": "start"}})"),
                ErrorCode::kDamaged, "location is \"start\"");
}

TEST(ArrayLayout, WrongInnerShapesAreDamage) {
  for (const char* shape : {"[0]", "[-2]", "[1.5]", "[2, 2]", "[]", "2", "[\"2\"]", "[NaN]", "null",
                            "[1e300]", "[18446744073709551615]"}) {
    const auto layout = MakeArrayLayout(Array("[4]", "[4]", Sharding(shape, kBytesCodec)));
    ASSERT_FALSE(layout) << shape;
    EXPECT_EQ(layout.error().code, ErrorCode::kDamaged) << shape;
    EXPECT_TRUE(Contains(layout.error().message, "chunk_shape")) << layout.error().message;
  }
  EXPECT_EQ(LayoutOf(Array("[4]", "[4]", Sharding("[2.0]", kBytesCodec))).inner_chunk_shape,
            (Shape{2}));
}

// The defaults are those of zarr-python.
TEST(ArrayLayout, CodecsThatAShardDoesNotNameAreTheUsualOnes) {
  const auto usual = LayoutOf(Array("[4]", "[4]", Sharding("[2]", kBytesCodec)));
  for (const char* more : {"", R"(, "codecs": null, "index_codecs": null)", R"(, "codecs": [])"}) {
    const auto layout = LayoutOf(Array(
        "[4]", "[4]",
        fmt::format(R"({{"name": "sharding_indexed", "configuration": {{"chunk_shape": [2]{}}}}})",
                    more)));
    EXPECT_EQ(layout.inner_codecs, usual.inner_codecs) << more;
    EXPECT_EQ(layout.levels[0].index.encoded_size(), usual.levels[0].index.encoded_size()) << more;
  }
}

TEST(ArrayLayout, AShardingCodecNeedsItsMembers) {
  const auto with = [](std::string_view configuration) {
    return Array(
        "[4]", "[4]",
        fmt::format(R"({{"name": "sharding_indexed", "configuration": {}}})", configuration));
  };
  ExpectRefused(with(R"({"codecs": ["bytes"], "index_codecs": ["bytes"]})"), ErrorCode::kDamaged,
                "chunk_shape");
  ExpectRefused(with(R"({"chunk_shape": [2], "codecs": 1, "index_codecs": ["bytes"]})"),
                ErrorCode::kDamaged, "codecs");
  ExpectRefused(with(R"({"chunk_shape": [2], "codecs": ["bytes"], "index_codecs": []})"),
                ErrorCode::kDamaged, "index_codecs");
  ExpectRefused(Array("[4]", "[4]", Sharding("[2]", kBytesCodec, R"("index_location": "middle")")),
                ErrorCode::kDamaged, "index_location");
}

TEST(ArrayLayout, HugeGridsAreRefused) {
  ExpectRefused(Array("[1099511627777]", "[1]", kBytesCodec), ErrorCode::kUnsupported, "2^40");
  ExpectRefused(Array("[4]", "[134217728]", Sharding("[1]", kBytesCodec)), ErrorCode::kUnsupported,
                "more than 67108864 inner chunks");
}

TEST(ArrayLayout, NestedShardsHaveNoMoreChunksThanOneShardMayHave) {
  // 2^13 x 2^13 chunks, the maximum number in one shard.
  const std::string largest = Sharding("[8192]", Sharding("[1]", kBytesCodec));
  EXPECT_EQ(LayoutOf(Array("[67108864]", "[67108864]", largest)).inner_per_outer_count,
            kMaxSlotsPerObject);
  // 2^13 x 2^14 chunks, although each level alone is below the limit.
  const std::string larger = Sharding("[16384]", Sharding("[1]", kBytesCodec));
  ExpectRefused(Array("[134217728]", "[134217728]", larger), ErrorCode::kUnsupported,
                "a shard holds more than 67108864 inner chunks in 2 levels of nested shards");
}

// zarr-python writes a grid of this kind for shards=[[4, 6]].
TEST(ArrayLayout, ShardsThatDifferInShapeHaveARegularGridOfInnerChunks) {
  const auto layout = LayoutOf(
      Array("[20, 9]", "[]", Sharding("[2, 3]", kBytesCodec), Rectilinear("[[4, [6, 3]], 9]")));
  EXPECT_EQ(layout.inner_chunk_shape, (Shape{2, 3}));
  EXPECT_EQ(layout.inner_grid.counts(), (Shape{10, 3}));
  EXPECT_EQ(layout.outer_grid.counts(), (Shape{4, 1}));
  EXPECT_EQ(layout.inner_per_outer, (Shape{3, 3})) << "those of the largest";
  ASSERT_TRUE(layout.outers_differ());
  const Shape outers = {0, 0, 1, 1, 1, 2, 2, 2, 3, 3};
  for (uint64_t inner = 0; inner < outers.size(); ++inner) {
    EXPECT_EQ(layout.PlaceOf(0, inner).outer, outers[inner]) << inner;
  }
  EXPECT_EQ(layout.PlaceOf(0, 6).local, 1U);
  EXPECT_EQ(layout.FirstInner(0, 3), 8U);
  EXPECT_EQ(layout.InnerCount(0, 0), 2U);
  EXPECT_EQ(layout.InnerCount(0, 3), 3U) << "also what lies outside the array";
  ChunkCoordinates counts;
  layout.CountsOf(OuterIndex{0}, counts);
  EXPECT_EQ(Shape(counts.data(), counts.data() + 2), (Shape{2, 3}));
}

TEST(ArrayLayout, ARectilinearGridOfEqualChunksIsRegular) {
  for (const char* shapes : {"[[4, 4], 3]", "[[[4, 2]], [3, 3]]", "[4, [[3, 1], [3, 1]]]",
                             "[[4, 4, 5], [3, [3, 7], 1]]"}) {
    SCOPED_TRACE(shapes);
    const auto plain = LayoutOf(Array("[8, 6]", "[]", kBytesCodec, Rectilinear(shapes)));
    EXPECT_EQ(plain.inner_chunk_shape, (Shape{4, 3}));
    EXPECT_EQ(plain.outer_grid.counts(), (Shape{2, 2}));
    EXPECT_FALSE(plain.outers_differ());
  }
  EXPECT_FALSE(LayoutOf(Array("[3]", "[]", kBytesCodec, Rectilinear("[[4]]"))).outers_differ())
      << "one chunk";
}

// A shorter last chunk is stored at its own length. Readers of regular grids expect a full chunk.
TEST(ArrayLayout, ChunksThatDifferInShapeAreRefusedUnlessTheyAreShards) {
  ExpectRefused(Array("[6, 10]", "[]", kBytesCodec, Rectilinear("[6, [4, 4, 2]]")),
                ErrorCode::kUnsupported,
                "chunk grid 'rectilinear': chunks of 4 and 2 elements along axis 1, and no "
                "inner chunks that could be shown instead");
}

TEST(ArrayLayout, InnerChunksDivideEveryShard) {
  ExpectRefused(Array("[10]", "[]", Sharding("[4]", kBytesCodec), Rectilinear("[[2, 8]]")),
                ErrorCode::kUnsupported,
                "inner chunks of 4 elements along axis 0 do not divide a shard of 2");
  ExpectRefused(Array("[10]", "[]", Sharding("[4]", kBytesCodec), Rectilinear("[[4, 6]]")),
                ErrorCode::kUnsupported, "inner chunk shape [4] does not divide");
  const auto layout =
      LayoutOf(Array("[10]", "[]", Sharding("[4]", kBytesCodec), Rectilinear("[[4, 8, 3]]")));
  EXPECT_EQ(layout.outer_grid.counts(), (Shape{2})) << "but those outside the array";
}

TEST(ArrayLayout, TheLargestShardDecidesHowManySlotsThereMayBe) {
  ExpectRefused(
      Array("[134217730]", "[]", Sharding("[1]", kBytesCodec), Rectilinear("[[2, 134217728]]")),
      ErrorCode::kUnsupported, "more than 67108864 inner chunks");
  // No shard exceeds the limit, but a shard of maximum length along each axis would.
  ExpectRefused(Array("[16385, 16385]", "[]", Sharding("[1, 1]", kBytesCodec),
                      Rectilinear("[[1, 16384], [16384, 1]]")),
                ErrorCode::kUnsupported, "more than 67108864 inner chunks");
  ExpectRefused(Array("[1099511627777, 1]", "[]", Sharding("[1, 1]", kBytesCodec),
                      Rectilinear("[[2, [1, 1099511627775]], 1]")),
                ErrorCode::kUnsupported, "2^40");
}

TEST(ArrayLayout, AnEmptyArrayOfDifferentShardsHasNone) {
  const auto layout = LayoutOf(
      Array("[0, 6]", "[]", Sharding("[2, 2]", kBytesCodec), Rectilinear("[[4, 6], [4, 2]]")));
  EXPECT_EQ(layout.outer_grid.counts(), (Shape{0, 2}));
  EXPECT_EQ(layout.outer_grid.size(), 0U);
}

TEST(ArrayLayout, NestingHasACap) {
  std::string codecs(kBytesCodec);
  for (int i = 0; i < 9; ++i) codecs = Sharding("[2]", codecs);
  ExpectRefused(Array("[4]", "[4]", codecs), ErrorCode::kUnsupported, "nested more than 8 deep");
}

}  // namespace
}  // namespace zarrfs::layout_test
