#include "tools/zarrctl/pack/pack_plan.h"

#include "tests/unit/zarrctl/commands_testing.h"

namespace zarrfs::ctl {
namespace {

constexpr std::string_view kZlib = R"({"name": "numcodecs.zlib", "configuration": {"level": 1}})";

// What becomes of the array that is a store.
Result<ArrayPlan> Plan(std::string_view document, const PackSettings& settings) {
  const auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", document);
  const Hierarchy hierarchy(store, {}, nullptr);
  const auto node = hierarchy.Get("", kAnyAge);
  EXPECT_TRUE(node && (*node)->chunks != nullptr);
  if (!node || (*node)->chunks == nullptr) return Fail(ErrorCode::kIo, "no array");
  return PlanArray(*node, settings);
}

PackSettings UpTo(uint64_t bytes) {
  return {.keep_codecs = false, .shard_size = bytes, .chunks_per_shard = {}};
}

Json DocumentOf(const ArrayPlan& plan) {
  auto json = ParseJson(plan.document, "plan");
  EXPECT_TRUE(json);
  return json ? *json : Json();
}

using Counts = std::vector<uint64_t>;

TEST(PackPlan, ShardsGrowEvenlyUpToTheLimit) {
  // (Chunks of 2 x 2 elements of a byte.)
  const auto document = ArrayText("[16, 8]", "[2, 2]", kBytesCodec);
  EXPECT_EQ(Plan(document, UpTo(1))->pieces_per_object, (Counts{1, 1}));
  EXPECT_EQ(Plan(document, UpTo(8))->pieces_per_object, (Counts{2, 1}));
  EXPECT_EQ(Plan(document, UpTo(15))->pieces_per_object, (Counts{2, 1}));
  EXPECT_EQ(Plan(document, UpTo(4 * 8))->pieces_per_object, (Counts{4, 2}));
  EXPECT_EQ(Plan(document, UpTo(1 << 20))->pieces_per_object, (Counts{8, 4})) << "all there are";
}

TEST(PackPlan, RequestedShardsAreUsed) {
  PackSettings settings = UpTo(1);
  settings.chunks_per_shard = {3, 4};
  const auto plan = Plan(ArrayText("[16, 8]", "[2, 2]", kBytesCodec), settings);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->pieces_per_object, (Counts{3, 4}));
  EXPECT_EQ(plan->objects.counts(), (Counts{3, 1}));
  EXPECT_EQ(plan->what, "12 chunks a shard, copied");
  settings.chunks_per_shard = {3};
  EXPECT_EQ(Plan(ArrayText("[16, 8]", "[2, 2]", kBytesCodec), settings)->pieces_per_object,
            (Counts{1, 1}))
      << "of another rank";
  settings.chunks_per_shard = {1 << 20, 1 << 20};
  const auto large = Plan(ArrayText("[16, 8]", "[2, 2]", kBytesCodec), settings);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
}

TEST(PackPlan, DocumentIsThatOfShards) {
  const auto plan = Plan(
      ArrayText("[16, 8]", "[2, 2]", kBytesCodec,
                R"({"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}}})"),
      UpTo(8));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->has_index);
  const Json json = DocumentOf(*plan);
  EXPECT_EQ(json["chunk_grid"]["configuration"]["chunk_shape"], Json({4, 2}));
  EXPECT_EQ(json["chunk_key_encoding"]["name"], "default");
  const Json& sharding = json["codecs"][0];
  EXPECT_EQ(sharding["name"], "sharding_indexed");
  EXPECT_EQ(sharding["configuration"]["chunk_shape"], Json({2, 2}));
  EXPECT_EQ(sharding["configuration"]["codecs"][0]["name"], "bytes");
  EXPECT_EQ(sharding["configuration"]["index_codecs"][1]["name"], "crc32c");
  EXPECT_EQ(plan->naming, (ChunkNaming{.prefix_c = true, .separator = '/'}));
}

TEST(PackPlan, OneChunkAShardIsNoShard) {
  const auto plan = Plan(ArrayText("[2, 2]", "[2, 2]", kBytesCodec), UpTo(1 << 20));
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->has_index);
  EXPECT_EQ(DocumentOf(*plan)["codecs"][0]["name"], "bytes");
  EXPECT_EQ(plan->what, "no shards, copied");
}

TEST(PackPlan, CodecsThatFewReadersKnowAreReplacedUnlessTheyAreKept) {
  const auto document = ArrayText("[8]", "[2]", fmt::format("{}, {}", kBytesCodec, kZlib),
                                  R"({"data_type": "float32", "fill_value": 0})");
  PackSettings settings = UpTo(1 << 20);
  const auto plan = Plan(document, settings);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->recoded);
  EXPECT_EQ(plan->recoded->back().name, "blosc");
  EXPECT_EQ(plan->recoded->back().configuration["typesize"], 4);
  EXPECT_EQ(DocumentOf(*plan)["codecs"][0]["configuration"]["codecs"][1]["name"], "blosc");
  settings.keep_codecs = true;
  EXPECT_FALSE(Plan(document, settings)->recoded);
}

TEST(PackPlan, StringsKeepTheirCodecAndGetZstd) {
  const auto document =
      ArrayText("[8]", "[2]", fmt::format(R"({{"name": "vlen-utf8"}}, {})", kZlib),
                R"({"data_type": "string", "fill_value": ""})");
  const auto plan = Plan(document, UpTo(1 << 20));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->recoded);
  EXPECT_EQ(plan->recoded->front().name, "vlen-utf8");
  EXPECT_EQ(plan->recoded->back().name, "zstd");
}

TEST(PackPlan, ShardsAreCopiedAsTheyAre) {
  const auto document = ArrayText("[8, 8]", "[4, 4]", Sharding("[2, 2]", kBytesCodec));
  const auto plan = Plan(document, UpTo(1 << 20));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->pieces_per_object, (Counts{1, 1}));
  EXPECT_FALSE(plan->has_index);
  EXPECT_EQ(plan->objects.counts(), (Counts{2, 2}));
  EXPECT_EQ(plan->what, "shards copied");
}

}  // namespace
}  // namespace zarrfs::ctl
