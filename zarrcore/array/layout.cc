#include "zarrcore/array/layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

constexpr std::string_view kSharding = "sharding_indexed";
constexpr uint64_t kCrc32cBytes = 4;
constexpr size_t kMaxNesting = 8;

std::vector<size_t> Identity(size_t rank) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  return axes;
}

Result<std::vector<uint64_t>> InnerShape(const Json& configuration, size_t rank) {
  const auto found = configuration.find("chunk_shape");
  if (found == configuration.end() || !found->is_array() || found->size() != rank) {
    return Fail(ErrorCode::kDamaged,
                "sharding_indexed: chunk_shape: expected a list of {} integers", rank);
  }
  std::vector<uint64_t> shape;
  for (const Json& edge : *found) {
    // Some writers store an edge length as a float, such as 64.0.
    const bool is_positive = edge.is_number_unsigned() ? edge.get<uint64_t>() >= 1
                             : edge.is_number_integer()
                                 ? edge.get<int64_t>() >= 1
                                 : edge.is_number_float() && edge.get<double>() >= 1 &&
                                       edge.get<double>() < 9e15 &&
                                       edge.get<double>() == std::trunc(edge.get<double>());
    if (!is_positive || edge.get<uint64_t>() > (uint64_t{1} << 62)) {
      return Fail(ErrorCode::kDamaged,
                  "sharding_indexed: chunk_shape has {}, not a positive integer", Excerpt(edge));
    }
    shape.push_back(edge.get<uint64_t>());
  }
  return shape;
}

Result<bool> IndexAtEnd(const Json& configuration) {
  const auto found = configuration.find("index_location");
  if (found == configuration.end() || (found->is_string() && *found == "end")) return true;
  if (found->is_string() && *found == "start") return false;
  return Fail(ErrorCode::kDamaged, "sharding_indexed: index_location is neither start nor end");
}

CodecSpec LittleEndianBytes() { return {"bytes", Json{{"endian", "little"}}}; }

Result<std::vector<CodecSpec>> ParseShardCodecs(const Json& configuration, const char* member,
                                                std::vector<CodecSpec> otherwise) {
  const Json& codecs = MemberOrNull(configuration, member);
  if (codecs.is_null()) return otherwise;
  return ParseCodecs(codecs, "sharding_indexed");
}

bool IsChecksumAtEnd(const CodecSpec& codec) {
  return codec.name == "crc32c" && codec.configuration.value("location", Json("end")) == "end";
}

// A codec chain that was split at its sharding codec: the sharding level, and the codecs of the
// inner chunks.
struct Split {
  ShardingLevel level;
  std::vector<CodecSpec> inner;
};

// Splits `chain` at its sharding codec. Returns nullopt if it has none. `shape`: the shape of the
// outer chunk along the array's axes. `axes`: axis j of the chunk that `chain` encodes is axis
// axes[j] of the array. Both are replaced by those of the inner chunk.
Result<std::optional<Split>> SplitSharding(std::span<const CodecSpec> chain, bool is_nested,
                                           std::vector<size_t>& axes,
                                           std::vector<uint64_t>& shape) {
  const auto sharding = std::ranges::find(chain, kSharding, &CodecSpec::name);
  if (sharding == chain.end()) return std::nullopt;
  const size_t rank = shape.size();
  const Json& configuration = sharding->configuration;

  std::vector<size_t> level_axes = axes;
  for (auto codec = chain.begin(); codec != sharding; ++codec) {
    if (codec->name != "transpose") {
      return Fail(ErrorCode::kUnsupported,
                  "codec '{}' before sharding_indexed is not supported, because whole shards would "
                  "have to be decoded",
                  codec->name);
    }
    const auto order = TransposeOrder(*codec, rank);
    if (!order) return Fail(order);
    std::vector<size_t> composed(rank);
    for (size_t j = 0; j < rank; ++j) composed[j] = level_axes[(*order)[j]];
    level_axes = std::move(composed);
  }
  Split split;
  const std::span<const CodecSpec> around(sharding + 1, chain.end());
  if (std::ranges::all_of(around, IsChecksumAtEnd)) {
    split.level.trailing_checksum = kCrc32cBytes * around.size();
  } else if (is_nested) {
    return Fail(ErrorCode::kUnsupported, "codec '{}' after a nested sharding_indexed",
                around.back().name);
  } else {
    auto pipeline = BytesPipeline::Make(around);
    if (!pipeline) return Fail(pipeline);
    split.level.around = std::move(*pipeline);
  }

  auto inner_shape = InnerShape(configuration, rank);
  if (!inner_shape) return Fail(inner_shape);
  std::vector<uint64_t> new_shape(rank);
  split.level.ratio.resize(rank);
  for (size_t j = 0; j < rank; ++j) {
    const size_t axis = level_axes[j];
    if (shape[axis] % (*inner_shape)[j] != 0) {
      return Fail(ErrorCode::kUnsupported,
                  "inner chunk shape [{}] does not divide the shard shape [{}]",
                  fmt::join(*inner_shape, ", "), fmt::join(shape, ", "));
    }
    new_shape[axis] = (*inner_shape)[j];
    split.level.ratio[axis] = shape[axis] / (*inner_shape)[j];
    split.level.counts.push_back(split.level.ratio[axis]);
  }

  // Members that are missing from the sharding configuration have the same defaults as in
  // zarr-python.
  auto inner = ParseShardCodecs(configuration, "codecs", {LittleEndianBytes()});
  if (!inner) return Fail(inner);
  if (inner->empty()) inner->push_back(LittleEndianBytes());
  const auto index_chain =
      ParseShardCodecs(configuration, "index_codecs", {LittleEndianBytes(), {"crc32c"}});
  if (!index_chain) return Fail(index_chain);
  const auto at_end = IndexAtEnd(configuration);
  if (!at_end) return Fail(at_end);
  auto index = ShardIndexSpec::Make(split.level.counts, *index_chain, *at_end);
  if (!index) return Fail(index);

  split.level.axes = level_axes;
  split.level.index = std::move(*index);
  split.level.index_codecs = *index_chain;
  split.inner = std::move(*inner);
  axes = std::move(level_axes);
  shape = std::move(new_shape);
  return std::optional<Split>(std::move(split));
}

// Fills layout.outer_axes, for arrays whose outer chunks differ in shape. Fails unless the inner
// chunks form a regular grid.
Result<void> LayOuterAxes(const ArrayMetadata& metadata, ArrayLayout& layout) {
  if (!layout.is_sharded()) {
    const auto differs = std::ranges::find_if(metadata.chunk_edges,
                                              [](const auto& edges) { return edges.size() > 1; });
    return Fail(ErrorCode::kUnsupported,
                "chunk grid 'rectilinear': chunks of {} and {} elements along axis {}, and no "
                "inner chunks that could be shown instead",
                (*differs)[0].length, (*differs)[1].length, differs - metadata.chunk_edges.begin());
  }
  const ShardingLevel& level = layout.levels.front();
  for (size_t d = 0; d < metadata.rank(); ++d) {
    const uint64_t inner_length = metadata.chunk_shape[d] / level.ratio[d];
    for (const EdgeRun& edge : metadata.chunk_edges[d]) {
      if (edge.length % inner_length == 0) continue;
      return Fail(ErrorCode::kUnsupported,
                  "inner chunks of {} elements along axis {} do not divide a shard of {}",
                  inner_length, d, edge.length);
    }
    layout.outer_axes.emplace_back(metadata.chunk_edges[d], layout.inner_chunk_shape[d]);
  }
  return {};
}

Result<ChunkGrid> OuterGrid(const ArrayMetadata& metadata, const ArrayLayout& layout) {
  if (!layout.outers_differ()) return ChunkGrid::Make(metadata.shape, metadata.chunk_shape);
  std::vector<uint64_t> counts;
  for (size_t d = 0; d < metadata.rank(); ++d) {
    const uint64_t inner = layout.inner_grid.counts()[d];
    counts.push_back(inner == 0 ? 0 : layout.PlaceOf(d, inner - 1).outer + 1);
  }
  return ChunkGrid::OfCounts(std::move(counts));
}

}  // namespace

void ArrayLayout::CountsOf(OuterIndex outer, ChunkCoordinates& counts) const {
  const ShardingLevel& level = levels.front();
  ChunkCoordinates at;
  outer_grid.Coordinates(ToNumber(outer), at);
  for (size_t j = 0; j < level.axes.size(); ++j) {
    const size_t axis = level.axes[j];
    const uint64_t below = inner_per_outer[axis] / level.ratio[axis];
    counts[j] = InnerCount(axis, at[axis]) / below;
  }
}

Result<ArrayLayout> MakeArrayLayout(const ArrayMetadata& metadata) {
  const size_t rank = metadata.rank();
  ArrayLayout layout;
  std::vector<size_t> axes = Identity(rank);
  layout.inner_chunk_shape = metadata.chunk_shape;
  layout.inner_codecs = metadata.codecs;
  layout.inner_per_outer.assign(rank, 1);
  while (true) {
    auto split =
        SplitSharding(layout.inner_codecs, !layout.levels.empty(), axes, layout.inner_chunk_shape);
    if (!split) return Fail(split);
    if (!*split) break;
    if (layout.levels.size() == kMaxNesting) {
      return Fail(ErrorCode::kUnsupported, "shards are nested more than {} deep", kMaxNesting);
    }
    for (size_t d = 0; d < rank; ++d) {
      // The product of the ratios of all levels divides the length of the outer chunk along the
      // axis, so it cannot overflow.
      layout.inner_per_outer[d] *= (*split)->level.ratio[d];
    }
    layout.inner_codecs = std::move((*split)->inner);
    layout.levels.push_back(std::move((*split)->level));
  }
  if (axes != Identity(rank)) {
    layout.inner_codecs.insert(layout.inner_codecs.begin(),
                               CodecSpec{"transpose", Json{{"order", axes}}});
  }
  const auto per_outer = CheckedProduct(layout.inner_per_outer);
  if (!per_outer || *per_outer > kMaxSlotsPerObject) {
    return Fail(ErrorCode::kUnsupported,
                "a shard holds more than {} inner chunks in {} levels of nested shards",
                kMaxSlotsPerObject, layout.levels.size());
  }
  layout.inner_per_outer_count = *per_outer;

  if (!metadata.chunk_edges.empty()) {
    if (const auto laid = LayOuterAxes(metadata, layout); !laid) return Fail(laid);
  }
  auto inner_grid = ChunkGrid::Make(metadata.shape, layout.inner_chunk_shape);
  if (!inner_grid) return Fail(inner_grid);
  layout.inner_grid = std::move(*inner_grid);
  auto outer_grid = OuterGrid(metadata, layout);
  if (!outer_grid) return Fail(outer_grid);
  layout.outer_grid = std::move(*outer_grid);
  // Listings number every slot of every shard, including slots beyond the edge of the array.
  if (const auto slots = CheckedMul(layout.outer_grid.size(), *per_outer);
      !slots || *slots > (uint64_t{1} << 62)) {
    return Fail(ErrorCode::kUnsupported, "the shards of the array have more than 2^62 slots");
  }
  if (metadata.grid_only) {
    layout.inner_pipeline = tl::unexpected(*metadata.grid_only);
    return layout;
  }
  layout.inner_pipeline =
      Pipeline::Make(layout.inner_codecs, ChunkSpec{metadata.data_type, layout.inner_chunk_shape});
  if (metadata.data_type.kind == DataKind::kString) {
    layout.inner_texts = VlenChain::Make(layout.inner_codecs,
                                         ChunkSpec{metadata.data_type, layout.inner_chunk_shape});
    const auto can = layout.inner_texts ? layout.inner_texts->CanDecodeTexts() : Result<void>();
    if (!can) layout.inner_texts = Fail(can);
  }
  return layout;
}

}  // namespace zarrfs
