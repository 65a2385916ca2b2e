// StoredRanges: caches stored bytes of a slow store. Bytes are fetched in ranges of whole chunks,
// each range with a single request. Thread-safe. No lock is held during requests to the store.
//
// The kernel reads a chunk file in pieces. The first piece causes one request for the whole chunk,
// or for a block of kBlock bytes if the chunk is larger. Later pieces are served from the cache.
// Fetch() prefetches a range of many chunks; a concurrent reader of a chunk in the range waits for
// that request. Ranges overlap only if chunks overlap, or if a chunk was read before the range that
// contains it.
//
// Memory is reserved from ProcessMemory(). If the reservation fails, reads go to the store
// directly.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/hash.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

class StoredRanges {
 public:
  /// Maximum number of bytes of one fetch.
  static constexpr uint64_t kBlock = 8u << 20;

  /// `capacity`: the number of bytes to cache.
  explicit StoredRanges(size_t capacity) : cache_(capacity, kSplits) {}

  /// Fills `out` with the bytes of a chunk from `offset` on. All these bytes must be in the chunk.
  /// Returns the errors of Object::Read(), and kWouldBlock if the bytes must be fetched but the
  /// thread may not wait.
  [[nodiscard]] Result<void> Read(const ChunkSource& source, const ChunkLocation& chunk,
                                  uint64_t offset, std::span<std::byte> out);

  /// Fetches bytes [begin, end), at most kBlock, of the stored object that contains `chunk`, unless
  /// they are cached or being fetched.
  [[nodiscard]] Result<void> Fetch(const ChunkSource& source, const ChunkLocation& chunk,
                                   uint64_t begin, uint64_t end);
  /// Announces a fetch of bytes [begin, end) of the stored object that contains `chunk`. A reader
  /// of a chunk in this range then fetches the whole range.
  void Plan(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin, uint64_t end);
  /// Cancels a fetch that Plan() announced.
  void Drop(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin, uint64_t end);

  /// True if a chunk of at most kBlock bytes is completely cached, being fetched or planned.
  [[nodiscard]] bool Has(const ChunkSource& source, const ChunkLocation& chunk);

  /// The number of bytes to fetch ahead of a reader: eight times the bytes in flight at full speed,
  /// at least 4 MiB, but at most 64 MiB and a quarter of the capacity.
  [[nodiscard]] uint64_t Ahead() const;
  /// The number of bytes to fetch concurrently: twice the bytes in flight at full speed, at least
  /// 2 MiB.
  [[nodiscard]] uint64_t AtOnce() const;
  /// True if many fetched bytes have not been read.
  [[nodiscard]] bool IsWasteful() const {
    return table_->IsWasteful(cache_.statistics().limit / 4 + Ahead());
  }

  /// True if any of the bytes [begin, end) of the stored object that contains `chunk` is cached,
  /// being fetched or planned.
  [[nodiscard]] bool HasAnyOf(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin,
                              uint64_t end);

  void SetCapacity(size_t capacity) { cache_.SetCapacity(capacity); }
  /// Evicts ranges of `bytes` in total, or all ranges. Called when memory is short.
  void Evict(size_t bytes) { cache_.Evict(bytes); }
  [[nodiscard]] CacheStatistics statistics() const { return cache_.statistics(); }

 private:
  static constexpr size_t kSplits = 4;

  // A version of a stored object.
  struct ObjectKey {
    uint64_t source;
    OuterIndex outer;
    uint64_t fingerprint;
    bool operator==(const ObjectKey&) const = default;
  };
  struct Key {
    ObjectKey object;
    uint64_t begin;
    uint64_t end;
    bool operator==(const Key&) const = default;
  };
  struct ObjectKeyHash {
    size_t operator()(const ObjectKey& key) const {
      return HashFields(key.source, ToNumber(key.outer), key.fingerprint);
    }
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return HashFields(ObjectKeyHash{}(key.object), key.begin, key.end);
    }
  };

  // The index of all ranges: cached, in flight or planned. Thread-safe.
  class Table {
   public:
    // Returns a range that contains [begin, end), or nullopt if none is found.
    [[nodiscard]] std::optional<Key> Find(const ObjectKey& object, uint64_t begin, uint64_t end);
    [[nodiscard]] bool HasAnyOf(const Key& key);
    void Enter(const Key& key);
    /// Removes a range. `served`: the number of its bytes that were read.
    void Leave(const Key& key, uint64_t served) noexcept;
    [[nodiscard]] bool IsWasteful(uint64_t most_unread) const;
    std::atomic<int64_t> unread = 0;  // the number of fetched bytes that were not read yet

   private:
    mutable Mutex mutex_;
    uint64_t fetched_ GUARDED_BY(mutex_) = 0;  // bytes in evicted ranges
    uint64_t wasted_ GUARDED_BY(mutex_) = 0;   // bytes in fetched_ that were never read
    // The offset of the first byte and the end of each range of a stored object.
    std::unordered_map<ObjectKey, std::set<std::pair<uint64_t, uint64_t>>, ObjectKeyHash> objects_
        GUARDED_BY(mutex_);
  };
  // Measures the speed and latency of the store. Thread-safe.
  class Meter {
   public:
    void End(int64_t begun_ns, uint64_t bytes);
    // The number of bytes in flight at full speed.
    [[nodiscard]] uint64_t bytes_under_way() const;

   private:
    mutable Mutex mutex_;
    // The latency: the shortest duration of recent requests; 0 if unknown.
    double delay_s_ GUARDED_BY(mutex_) = 0;
    double bytes_per_s_ GUARDED_BY(mutex_) = 0;  // the highest measured speed
    int64_t since_ns_ GUARDED_BY(mutex_) = 0;    // when the current measurement began
    uint64_t bytes_ GUARDED_BY(mutex_) = 0;      // the number of bytes received since since_ns_
  };
  // The bytes of a range. The destructor removes the range from the table.
  struct Block;

  [[nodiscard]] static Key KeyOf(const ChunkSource& source, const ChunkLocation& chunk,
                                 uint64_t begin, uint64_t end) {
    return {{source.id(), chunk.outer, chunk.shard->fingerprint}, begin, end};
  }
  [[nodiscard]] Result<std::shared_ptr<const Block>> Get(const ChunkLocation& chunk,
                                                         const Key& key);

  const std::shared_ptr<Table> table_ = std::make_shared<Table>();
  Meter meter_;
  LruCache<Key, Block, KeyHash> cache_;
};

}  // namespace zarrfs
