#include "tools/zarrctl/pack/pack_plan.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/base/checked.h"

namespace zarrfs::ctl {
namespace {

using std::string_view_literals::operator""sv;

// The codecs that v3 readers support for all data types that they can read.
constexpr std::array kKnownEverywhere = {"bytes"sv, "transpose"sv, "gzip"sv,      "zstd"sv,
                                         "blosc"sv, "crc32c"sv,    "vlen-utf8"sv, "vlen-bytes"sv};

// The maximum number of chunks per shard, unless the user sets it.
constexpr uint64_t kMaxChosen = uint64_t{1} << 16;
constexpr uint64_t kBytesOfText = 16;  // the estimated size of an element of variable length
constexpr size_t kMaxBloscType = 255;

bool IsKnownEverywhere(const CodecSpec& codec) {
  return std::ranges::find(kKnownEverywhere, codec.name) != kKnownEverywhere.end();
}

// Returns the number of chunks per shard along each axis. Repeatedly doubles the shard along the
// axis with the most shards, while its decoded size is at most `limit` bytes and it has at most
// kMaxChosen chunks.
std::vector<uint64_t> ChooseChunksPerShard(const std::vector<uint64_t>& chunks,
                                           uint64_t chunk_bytes, uint64_t limit) {
  std::vector<uint64_t> per_shard(chunks.size(), 1);
  const uint64_t most = std::min(kMaxChosen, limit / std::max<uint64_t>(chunk_bytes, 1));
  for (;;) {
    size_t axis = 0;
    uint64_t shards = 1;
    for (size_t d = 0; d < chunks.size(); ++d) {
      if (const uint64_t count = CeilDiv(chunks[d], per_shard[d]); count > shards) {
        shards = count;
        axis = d;
      }
    }
    if (shards == 1) return per_shard;
    const uint64_t before =
        std::exchange(per_shard[axis], std::min(2 * per_shard[axis], chunks[axis]));
    const auto count = CheckedProduct(per_shard);
    if (!count || *count > most) {
      per_shard[axis] = before;
      return per_shard;
    }
  }
}

std::vector<CodecSpec> RecodedAs(const ArrayMetadata& array) {
  const size_t item = array.data_type.item_size;
  const Json zstd = {{"level", 3}, {"checksum", false}};
  if (item == 0) return {array.codecs.front(), {"zstd", zstd}};
  if (item == 1) return {{"bytes", Json::object()}, {"zstd", zstd}};
  return {{"bytes", Json{{"endian", "little"}}},
          {"blosc", Json{{"typesize", item > kMaxBloscType ? size_t{1} : item},
                         {"cname", "zstd"},
                         {"clevel", 5},
                         {"shuffle", "shuffle"},
                         {"blocksize", 0}}}};
}

Result<void> PlanCodecs(const ArrayMetadata& array, const PackSettings& settings, ArrayPlan& plan) {
  if (settings.keep_codecs || std::ranges::all_of(array.codecs, IsKnownEverywhere)) return {};
  const bool is_text = array.data_type.item_size == 0;
  const auto& pipeline = plan.node->chunks->layout().inner_pipeline;
  if (!is_text && !pipeline) {
    return Fail(pipeline.error().code, "{}; --keep-codecs copies the chunks as they are",
                pipeline.error().message);
  }
  if (is_text && !array.codecs.front().name.starts_with("vlen-")) {
    return Fail(ErrorCode::kUnsupported, "codec '{}' is not known; --keep-codecs copies the chunks",
                array.codecs.front().name);
  }
  plan.recoded = RecodedAs(array);
  return {};
}

Result<void> PlanShards(const ArrayMetadata& array, const PackSettings& settings, ArrayPlan& plan) {
  const auto& chunks = plan.pieces().counts();
  const size_t item = array.data_type.item_size;
  const auto bytes = CheckedProduct(array.chunk_shape, item == 0 ? kBytesOfText : item);
  plan.pieces_per_object =
      settings.chunks_per_shard.size() == array.rank() && array.rank() > 0
          ? settings.chunks_per_shard
          : ChooseChunksPerShard(chunks, bytes.value_or(UINT64_MAX), settings.shard_size);
  const auto count = CheckedProduct(plan.pieces_per_object);
  if (!count || *count > kMaxSlotsPerObject) {
    return Fail(ErrorCode::kTooLarge, "more than {} chunks in a shard", kMaxSlotsPerObject);
  }
  plan.has_index = *count > 1;
  return {};
}

Result<void> MakeDocument(const ArrayMetadata& array, ArrayPlan& plan) {
  const std::string key = JoinKey(plan.node->path, kZarrJson);
  const auto& shown = plan.node->views[*ViewNumber("v3")];
  if (shown.hidden) return tl::unexpected(*shown.hidden);
  auto parsed = ParseJson(shown.documents.front().bytes, key);
  if (!parsed) return Fail(parsed);
  Json& json = *parsed;
  json["chunk_key_encoding"] = {{"name", "default"}, {"configuration", {{"separator", "/"}}}};
  if (plan.recoded) json["codecs"] = ToJson(*plan.recoded);
  std::vector<uint64_t> shard_shape;
  for (size_t d = 0; d < array.rank(); ++d) {
    const auto length = CheckedMul(array.chunk_shape[d], plan.pieces_per_object[d]);
    if (!length) return Fail(ErrorCode::kTooLarge, "{}: shards are too long along axis {}", key, d);
    shard_shape.push_back(*length);
  }
  if (plan.has_index) {
    const std::vector<CodecSpec> index = {{"bytes", Json{{"endian", "little"}}}, {"crc32c"}};
    const std::vector<CodecSpec> sharding = {
        {"sharding_indexed", Json{{"chunk_shape", array.chunk_shape},
                                  {"codecs", json["codecs"]},
                                  {"index_codecs", ToJson(index)},
                                  {"index_location", "end"}}}};
    json["codecs"] = ToJson(sharding);
  }
  json["chunk_grid"]["configuration"]["chunk_shape"] = shard_shape;
  auto objects = ChunkGrid::Make(array.shape, shard_shape);
  if (!objects) return Fail(objects);
  plan.objects = std::move(*objects);
  plan.document = DumpJson(json);
  return {};
}

}  // namespace

Result<ArrayPlan> PlanArray(const NodePtr& node, const PackSettings& settings) {
  const ArrayMetadata& array = *node->array();
  const ArrayLayout& layout = node->chunks->layout();
  ArrayPlan plan;
  plan.node = node;
  if (array.grid_only) return tl::unexpected(*array.grid_only);
  if (layout.is_sharded()) {
    plan.pieces_per_object.assign(array.rank(), 1);
    plan.objects = layout.outer_grid;
    plan.naming = ChunkNaming::Of(array.key_encoding);
    plan.document = DumpJson(array.document);
    plan.what = "shards copied";
    return plan;
  }
  plan.naming = ChunkNaming{.prefix_c = true, .separator = '/'};
  if (const auto planned = PlanCodecs(array, settings, plan); !planned) return Fail(planned);
  if (const auto planned = PlanShards(array, settings, plan); !planned) return Fail(planned);
  if (const auto made = MakeDocument(array, plan); !made) return Fail(made);
  plan.what = fmt::format(
      "{}, {}",
      plan.has_index ? CountText(*CheckedProduct(plan.pieces_per_object), "chunk") + " a shard"
                     : "no shards",
      plan.recoded ? "re-encoded: " + DescribeCodecs(*plan.recoded) : "copied");
  return plan;
}

}  // namespace zarrfs::ctl
