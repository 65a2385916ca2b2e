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

/// A shard with its index, a nested shard, or an unsharded chunk. Immutable except for `freshness`,
/// `reported` and the notes.
struct OpenShard {
  MemoryBudget::Share memory;  // the budget's share for this object; destroyed last
  // Null if an unsharded chunk was only stat'ed, or if the object is absent.
  std::shared_ptr<const Object> object;
  ObjectInfo info;
  uint64_t fingerprint = 0;         // the fingerprint of info.version
  uint32_t step = 0;                // see ReadAnswer::step
  uint64_t offset = 0;              // where this shard begins in the object
  uint64_t size = 0;                // in bytes, without a trailing checksum
  std::optional<ShardIndex> index;  // nullopt for an unsharded chunk, and if the index is damaged
  std::optional<Error> damage;      // why the index is unusable; permanent for this version
  bool is_in_memory = false;        // true if the whole object was decoded into memory
  bool is_absent = false;           // true if no such object exists; only for slow stores

  mutable Freshness freshness;
  mutable std::atomic<bool> reported{false};  // true once a problem was reported
  /// The latest epoch number of this version plus one, or 0 if unknown. Users of OpenShard store
  /// the number here, so reads need not look it up in a table. Each ChunkSource has one table for
  /// its epoch numbers. Any thread may set the note; relaxed order suffices.
  mutable std::atomic<uint32_t> epoch_note{0};
  /// ChunkReader's notes about the zstd frame of each entry; 0 if unknown. Null if chunks have no
  /// zstd frames, or the object is not open.
  std::unique_ptr<std::atomic<uint8_t>[]> frame_notes;
  /// Notes about the checksum of each entry (ChecksumNote); 0 if unknown. Null if chunks have no
  /// checksums that views omit, or the object is not open.
  std::unique_ptr<std::atomic<uint8_t>[]> checksum_notes;
  /// A range of the object that is followed by its crc32c checksums: this shard, or an enclosing
  /// shard. Reads of a shard leave out these checksums.
  struct Guarded {
    uint64_t offset;
    uint64_t size;  // in bytes, without the checksums
    uint64_t tail;  // the number of bytes of the checksums
  };
  std::vector<Guarded> guarded;
};
using OpenShardPtr = std::shared_ptr<const OpenShard>;

/// Identifies an OpenShard in the index cache.
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
/// A store has one; NodeReader (hierarchy/node_reader.h) makes it.
using IndexCache = RevalidatingCache<ShardKey, OpenShard, ShardKeyHash>;

}  // namespace zarrfs
