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

  // ReadOuter() and ReadNested() fail if bytes cannot be read. If bytes are invalid, the functions
  // succeed and set the shard's `damage`.

  /// Opens a stored object with one request, unless its index is longer than 1 MiB or the object
  /// must be decoded as a whole.
  [[nodiscard]] Result<IndexCache::Loaded> ReadOuter(OuterIndex outer,
                                                     const std::string& key) const;

  /// Opens the nested shard of layout.levels[level] at `range` of `parent`.
  [[nodiscard]] Result<IndexCache::Loaded> ReadNested(const OpenShard& parent, uint32_t level,
                                                      const ChunkRange& range) const;

 private:
  // Reads a sharded object and its index, which `spec` describes.
  Result<IndexCache::Loaded> ReadShard(const std::string& key, const ShardIndexSpec& spec) const;
  // Reads a sharded object that must be decoded as a whole, and its index, which `spec` describes.
  Result<IndexCache::Loaded> ReadDecoded(const std::string& key, const ShardIndexSpec& spec) const;
  // `max_ratio`: the maximum ratio of decoded to stored bytes. An object that exceeds this ratio
  // counts as damaged.
  Result<IndexCache::Loaded> ReadDecoded(const std::string& key, const ShardIndexSpec& spec,
                                         uint64_t max_ratio) const;
  // Sets the shard's `index` or `damage`. The shard's `size` must be set. `encoded` is the index if
  // it was read already; otherwise the index is read from the shard's `object`.
  Result<void> ReadIndex(const ShardIndexSpec& spec, OpenShard& shard,
                         BytesView encoded = {}) const;
  // Returns the maximum decoded size of a shard of `size` stored bytes, at most kMaxChunkBytes.
  [[nodiscard]] uint64_t MaxDecodedSize(uint64_t size, uint64_t max_ratio) const;
  [[nodiscard]] IndexCache::Loaded Loaded(std::shared_ptr<OpenShard> shard) const;

  const Store& store_;
  const ArrayLayout& layout_;
  bool has_frames_ = false;     // true if zstd is a codec of innermost chunks
  bool has_checksums_ = false;  // true if a checksum is the last codec of innermost chunks
};

}  // namespace zarrfs
