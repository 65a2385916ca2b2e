// OpenShard: one version of a stored object with chunks, opened for lookups. IndexCache: the cache
// of open shards that all arrays share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "zarrcore/array/chunk_grid.h"
#include "zarrcore/array/shard_index.h"
#include "zarrcore/base/hash.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/revalidating_cache.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// A stored shard with its index, a nested shard, or an unsharded chunk. Immutable except for
/// `freshness`, `reported`, `epoch_note`, `frame_notes` and `checksum_notes`.
struct OpenShard {
  MemoryBudget::Share memory;  // what this object takes from the memory budget; destroyed last
  // The stored object. Null if an unsharded chunk was only stat'ed, or if the object is absent.
  std::shared_ptr<const Object> object;
  ObjectInfo info;
  uint64_t fingerprint = 0;         // the fingerprint of the object's version
  uint32_t step = 0;                // see ReadAnswer::step
  uint64_t offset = 0;              // where this shard begins in the object
  uint64_t size = 0;                // of this shard or chunk in bytes, without trailing checksums
  std::optional<ShardIndex> index;  // nullopt for an unsharded chunk or a damaged index
  std::optional<Error> damage;      // why the index is unusable; permanent for this version
  bool is_in_memory = false;        // true if the whole object was decoded into memory
  bool is_absent = false;  // true if no such object exists, which is cached for slow stores

  mutable Freshness freshness;
  mutable std::atomic<bool> reported{false};  // true once a problem with it was reported
  /// The latest epoch number (see EpochTable) of this version of the object plus one, or 0 if
  /// unknown. It is stored here so reads need not look it up in the table, of which each
  /// ChunkSource has one. Any thread may set it; relaxed order suffices.
  mutable std::atomic<uint32_t> epoch_note{0};
  /// For each entry of the index, what ChunkReader has found out about the chunk's zstd frame; 0 if
  /// nothing. Null if chunks have no zstd frames, or the object is not open.
  std::unique_ptr<std::atomic<uint8_t>[]> frame_notes;
  /// For each entry of the index, whether the chunk's checksum was verified (ChecksumNote); 0 if
  /// unknown. Null if the last codec of the chunks is not a checksum, or the object is not open.
  std::unique_ptr<std::atomic<uint8_t>[]> checksum_notes;
  /// A range of the object that is followed by crc32c checksums of the range. The range is this
  /// shard or a shard around it. Reads of a shard leave out these checksums.
  struct Guarded {
    uint64_t offset;
    uint64_t size;  // of the range in bytes, without the checksums
    uint64_t tail;  // the total size in bytes of the checksums after the range
  };
  std::vector<Guarded> guarded;
};
using OpenShardPtr = std::shared_ptr<const OpenShard>;

/// The key of an OpenShard in the IndexCache.
struct ShardKey {
  uint64_t array = 0;  // see ChunkSource::id()
  // The number of the shard in the grid of its level; at level 0, an OuterIndex.
  uint64_t linear = 0;
  uint32_t level = 0;  // 0 for a stored object
  bool operator==(const ShardKey&) const = default;
};
struct ShardKeyHash {
  size_t operator()(const ShardKey& key) const {
    return HashFields(key.array, key.linear, key.level);
  }
};
/// The cache of open shards. Each store has one, which all arrays share; NodeReader
/// (hierarchy/node_reader.h) creates it.
using IndexCache = RevalidatingCache<ShardKey, OpenShard, ShardKeyHash>;

}  // namespace zarrfs
