// ArrayLayout: where the innermost chunks of an array are in its stored objects. The innermost
// chunks are those that a reader without support for sharding sees. The layout is computed from the
// metadata alone, without I/O.
//
// An array is stored in outer chunks. If its codec chain contains "sharding_indexed", each outer
// chunk is a shard. Its inner chunks may themselves be shards. Each level of nesting is a
// ShardingLevel. Transposes before a sharding codec permute the axes of the shard's grid, so each
// level maps its axes to the array's axes.
//
// The outer chunks of a "rectilinear" grid differ in shape. If every outer chunk consists of whole
// inner chunks of one shape, the inner chunks form a regular grid. Only the mapping between the
// outer and inner grids, and the sizes of the outermost shard indexes, then differ from those of a
// regular array.
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

/// One level of sharding. If the outermost shards differ in shape, their `ratio`, `counts` and
/// `index` are those of a shard that has the maximum length along every axis.
struct ShardingLevel {
  std::vector<size_t> axes;      // axis j of the shard index is axis axes[j] of the array
  std::vector<uint64_t> ratio;   // the number of chunks per shard, along the array's axes
  std::vector<uint64_t> counts;  // the number of chunks per shard, along the axes of the index
  ShardIndexSpec index;
  std::vector<CodecSpec> index_codecs;
  // Total size in bytes of the crc32c checksums after the shard; 0 if there are none.
  uint64_t trailing_checksum = 0;
  // The codecs after "sharding_indexed" in the chain. Empty if all of them are crc32c; otherwise,
  // the shard is decoded as a whole.
  BytesPipeline around = {};
};

struct ArrayLayout {
  std::vector<ShardingLevel> levels;        // outermost level first; empty without sharding
  std::vector<uint64_t> inner_chunk_shape;  // in elements, along the array's axes
  /// The codec chain of the innermost chunks. Without sharding, this is "codecs" in the metadata.
  std::vector<CodecSpec> inner_codecs;
  ChunkGrid outer_grid;  // the grid of stored objects
  ChunkGrid inner_grid;  // the grid of innermost chunks that lie in the array
  /// The number of innermost chunks in an outer chunk along each axis; the maximum, if outer chunks
  /// differ in shape. Slots are numbered as if every outer chunk had the maximum shape, so some
  /// numbers are unused.
  std::vector<uint64_t> inner_per_outer;
  uint64_t inner_per_outer_count = 1;
  /// For outer chunks that differ in shape, one OuterAxis per axis. Otherwise empty.
  std::vector<OuterAxis> outer_axes;
  /// Decodes innermost chunks. If a codec or the data type is not supported, the error says why.
  Result<Pipeline> inner_pipeline = Fail(ErrorCode::kUnsupported, "not made");
  /// Decodes innermost chunks of variable-length strings to fixed-size items. If that is
  /// impossible, the error says why.
  Result<VlenChain> inner_texts = Fail(ErrorCode::kUnsupported, "the elements are not strings");

  [[nodiscard]] bool is_sharded() const { return !levels.empty(); }
  [[nodiscard]] bool outers_differ() const { return !outer_axes.empty(); }

  // The functions below work along one axis of the array. PlaceOf() returns the outer chunk that
  // contains an innermost chunk, and the position in that outer chunk. FirstInner() returns the
  // first innermost chunk of an outer chunk. InnerCount() returns the number of innermost chunks in
  // an outer chunk, including any outside the array.
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

  /// Sets `counts` to the number of entries along each axis of the shard index of outer chunk
  /// `outer`. Unlike levels[0].counts, the result takes the shape of this outer chunk into account.
  void CountsOf(OuterIndex outer, ChunkCoordinates& counts) const;
};

/// Makes the layout of an array. Fails with kUnsupported or kDamaged if inner chunks are not byte
/// ranges of stored or decoded objects. Causes are codecs other than crc32c around a nested shard,
/// codecs other than transpose before sharding, too many levels of shards, inner shapes that do not
/// divide the outer shape, unsharded chunks that differ in shape, unknown index codecs, more
/// than kMaxSlotsPerObject chunks in one stored object, or more chunks than can be numbered.
[[nodiscard]] Result<ArrayLayout> MakeArrayLayout(const ArrayMetadata& metadata);

}  // namespace zarrfs
