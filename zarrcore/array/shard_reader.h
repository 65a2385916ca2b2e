// ShardReader: opens the stored objects of one array and the shards inside them. Caches nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "zarrcore/array/layout.h"
#include "zarrcore/array/open_shard.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class ShardReader {
 public:
  /// `store` and `layout` must outlive this object.
  ShardReader(const Store& store, const ArrayLayout& layout);

  // Invalid bytes become the shard's `damage`; an error means that they could not be read.

  /// Reads a stored object, in one request unless its index is longer than kIndexPiece.
  [[nodiscard]] Result<IndexCache::Loaded> ReadOuter(OuterIndex outer,
                                                     const std::string& key) const;

  /// The shard at `range` of `parent`, which is of layout.levels[level].
  [[nodiscard]] Result<IndexCache::Loaded> ReadNested(const OpenShard& parent, uint32_t level,
                                                      const ChunkRange& range) const;

 private:
  // Reads a sharded object with an index as in `spec`.
  Result<IndexCache::Loaded> ReadShard(const std::string& key, const ShardIndexSpec& spec) const;
  // Reads an object whose shards must be decoded as a whole.
  Result<IndexCache::Loaded> ReadDecoded(const std::string& key, const ShardIndexSpec& spec) const;
  // `max_ratio`: of decoded to stored bytes; an object beyond it counts as damaged.
  Result<IndexCache::Loaded> ReadDecoded(const std::string& key, const ShardIndexSpec& spec,
                                         uint64_t max_ratio) const;
  // Sets the shard's `index`, or its `damage`. Its `size` is known; `encoded` is the index if it
  // was read already, otherwise it is read from the shard's `object`.
  Result<void> ReadIndex(const ShardIndexSpec& spec, OpenShard& shard,
                         BytesView encoded = {}) const;
  // For a shard of `size` stored bytes, at most kMaxChunkBytes.
  [[nodiscard]] uint64_t MaxDecodedSize(uint64_t size, uint64_t max_ratio) const;
  [[nodiscard]] IndexCache::Loaded Loaded(std::shared_ptr<OpenShard> shard) const;

  const Store& store_;
  const ArrayLayout& layout_;
  bool has_frames_ = false;     // zstd is a codec of innermost chunks
  bool has_checksums_ = false;  // a checksum is their last codec
};

}  // namespace zarrfs
