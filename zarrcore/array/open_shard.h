// OpenShard: one version of a stored object that holds chunks, opened for lookups, and the cache of
// them that all arrays share.
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

/// A shard with its index, a shard inside a shard, or a plain chunk. Immutable except for notes.
struct OpenShard {
  MemoryBudget::Share memory;            // of this object; destroyed last
  std::shared_ptr<const Object> object;  // null if only the size of a plain chunk was asked for
  ObjectInfo info;
  uint64_t fingerprint = 0;         // of info.version
  uint64_t offset = 0;              // of this shard in the object
  uint64_t size = 0;                // bytes, without a trailing checksum
  std::optional<ShardIndex> index;  // absent in a plain chunk, and if damaged
  std::optional<Error> damage;      // why there is no index; permanent for this version
  bool is_in_memory = false;        // the object was decoded into memory
  bool is_absent = false;           // the object does not exist; cached for slow stores

  mutable Freshness freshness;
  mutable std::atomic<bool> reported{false};  // its damage was reported
  /// For the user of this class: the latest epoch number of this version, to save a table lookup
  /// when reading; 0 for none. All numbers come from one table per ChunkSource. Set by any thread;
  /// relaxed order suffices.
  mutable std::atomic<uint32_t> epoch_note{0};
  /// ChunkReader's notes about each entry's zstd frame, 0 for unknown; null without zstd.
  std::unique_ptr<std::atomic<uint8_t>[]> frame_notes;
  /// ChunkReader's notes about the checksum of each entry, 0 for unknown; null if chunks do not end
  /// with one.
  std::unique_ptr<std::atomic<uint8_t>[]> checksum_notes;
  /// Bytes of the object followed by a crc32c of their own: this shard and those around it, which
  /// are read without their checksums.
  struct Guarded {
    uint64_t offset;
    uint64_t size;  // without the checksums
    uint64_t tail;  // bytes of the checksums
  };
  std::vector<Guarded> guarded;
};
using OpenShardPtr = std::shared_ptr<const OpenShard>;

/// Identifies an OpenShard in the index cache.
struct ShardKey {
  uint64_t array = 0;   // ChunkSource::id()
  uint64_t linear = 0;  // which shard, in the grid of its level; an OuterIndex at level 0
  uint32_t level = 0;   // 0: a stored object
  bool operator==(const ShardKey&) const = default;
};
struct ShardKeyHash {
  size_t operator()(const ShardKey& key) const {
    return HashFields(key.array, key.linear, key.level);
  }
};
using IndexCache = RevalidatingCache<ShardKey, OpenShard, ShardKeyHash>;

}  // namespace zarrfs
