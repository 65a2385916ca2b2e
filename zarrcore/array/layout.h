// ArrayLayout: how the innermost chunks (the chunks that a reader without sharding would see) lie
// in the stored objects. Made from the metadata alone; no I/O.
//
// An array is stored in outer chunks. If its codec chain holds "sharding_indexed", an outer chunk
// is a shard, its inner chunks may be shards again, and so on: one ShardingLevel each. Transposes
// before a sharding codec permute the axes of its grid; each level therefore names its axes in
// terms of the array's.
//
// The outer chunks of a "rectilinear" grid differ in shape. As long as each consists of whole inner
// chunks, which all have one shape, the inner chunks form a regular grid; only the mapping between
// the grids and the sizes of the outermost indexes differ.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "zarrcore/array/chunk_grid.h"
#include "zarrcore/array/outer_axis.h"
#include "zarrcore/array/shard_index.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/vlen.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// Outermost shards may differ in shape; then ratio, counts and index describe a shard with the
/// greatest length along every axis.
struct ShardingLevel {
  std::vector<size_t> axes;      // axis j of the index grid is axis axes[j] of the array
  std::vector<uint64_t> ratio;   // chunks per shard, along the array's axes
  std::vector<uint64_t> counts;  // along the index grid's axes
  ShardIndexSpec index;
  std::vector<CodecSpec> index_codecs;
  uint64_t trailing_checksum = 0;  // bytes of crc32c after the shard
  BytesPipeline around = {};       // other codecs after sharding: the shard is decoded as a whole
};

struct ArrayLayout {
  std::vector<ShardingLevel> levels;        // outermost first; empty if the array is not sharded
  std::vector<uint64_t> inner_chunk_shape;  // of the innermost chunks, along the array's axes
  /// The codec chain of the innermost chunks: "codecs" to a reader without sharding.
  std::vector<CodecSpec> inner_codecs;
  ChunkGrid outer_grid;  // of stored objects
  ChunkGrid inner_grid;  // of innermost chunks, excluding those outside the array
  /// Innermost chunks in an outer chunk along each axis: the maximum, if outer chunks differ. Slots
  /// are numbered as if every outer chunk were the largest; the rest are unused.
  std::vector<uint64_t> inner_per_outer;
  uint64_t inner_per_outer_count = 1;
  /// For outer chunks that differ in shape, one for each axis; else empty.
  std::vector<OuterAxis> outer_axes;
  /// Decodes innermost chunks if all codecs and the data type are known; else the reason.
  Result<Pipeline> inner_pipeline = Fail(ErrorCode::kUnsupported, "not made");
  /// Decodes innermost chunks of texts of variable length to items of one size; else the reason.
  Result<VlenChain> inner_texts = Fail(ErrorCode::kUnsupported, "the elements are no texts");

  [[nodiscard]] bool is_sharded() const { return !levels.empty(); }
  [[nodiscard]] bool outers_differ() const { return !outer_axes.empty(); }

  // Along one axis of the array: the place of an innermost chunk, the first chunk of an outer
  // chunk, and the number of its chunks (some of which may be outside the array).
  [[nodiscard]] OuterAxis::Place PlaceOf(size_t axis, uint64_t inner) const {
    if (outers_differ()) return outer_axes[axis].PlaceOf(inner);
    return {inner / inner_per_outer[axis], inner % inner_per_outer[axis]};
  }
  [[nodiscard]] uint64_t FirstInner(size_t axis, uint64_t outer) const {
    return outers_differ() ? outer_axes[axis].FirstOf(outer) : outer * inner_per_outer[axis];
  }
  [[nodiscard]] uint64_t InnerCount(size_t axis, uint64_t outer) const {
    return outers_differ() ? outer_axes[axis].CountOf(outer) : inner_per_outer[axis];
  }

  /// levels[0].counts of one outer chunk, which may differ from others.
  void CountsOf(OuterIndex outer, ChunkCoordinates& counts) const;
};

/// kUnsupported or kDamaged with the reason if inner chunks are not byte ranges of stored or
/// decoded objects: codecs around a nested shard, shapes that do not divide, unsharded chunks that
/// differ in shape, unknown index codecs, more than kMaxSlotsPerObject chunks in one stored object,
/// or more chunks than can be numbered.
[[nodiscard]] Result<ArrayLayout> MakeArrayLayout(const ArrayMetadata& metadata);

}  // namespace zarrfs
