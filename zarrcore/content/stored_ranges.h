// StoredRanges: bytes of the stored objects of a slow store, fetched in ranges of whole chunks,
// each once, and cached.
//
// The kernel reads a chunk file in pieces. A slow store is asked once for its chunk (in blocks if
// it is larger than kBlock), and the pieces are served from here. Fetch() fetches a range of many
// chunks ahead: a concurrent reader of one of them waits for it instead of requesting it again.
// Ranges overlap only if chunks do, or if single chunks had been read before the range that
// contains them.
//
// Memory comes from ProcessMemory(). If there is none, reads go to the store. Thread-safe; no lock
// is held while the store is asked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/hash.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

class StoredRanges {
 public:
  /// Maximum bytes of one fetch.
  static constexpr uint64_t kBlock = 8u << 20;

  /// `capacity`: bytes to cache.
  explicit StoredRanges(size_t capacity) : cache_(capacity, kSplits) {}

  /// Fills `out` with the bytes of a chunk from `offset` on, which must lie in the chunk. Fails
  /// like Object::Read().
  [[nodiscard]] Result<void> Read(const ChunkSource& source, const ChunkLocation& chunk,
                                  uint64_t offset, std::span<std::byte> out);

  /// Fetches bytes [begin, end) of the stored object that holds `chunk`, at most kBlock, unless
  /// they are cached or being fetched.
  [[nodiscard]] Result<void> Fetch(const ChunkSource& source, const ChunkLocation& chunk,
                                   uint64_t begin, uint64_t end);
  /// Announces a fetch of [begin, end): a reader of a chunk in it fetches the whole range.
  void Plan(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin, uint64_t end);
  /// Cancels Plan().
  void Drop(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin, uint64_t end);

  /// Whether a whole chunk, of at most kBlock bytes, is cached, being fetched or planned.
  [[nodiscard]] bool Has(const ChunkSource& source, const ChunkLocation& chunk);

  /// How many bytes to fetch ahead of a reader: eight times the bytes in flight at the measured
  /// speed, but at most a quarter of the capacity.
  [[nodiscard]] uint64_t Ahead() const;
  /// How many bytes to fetch concurrently: those that fill the link twice.
  [[nodiscard]] uint64_t AtOnce() const;
  /// Whether many fetched bytes were not, or not yet, read.
  [[nodiscard]] bool IsWasteful() const {
    return table_->IsWasteful(cache_.statistics().limit / 4 + Ahead());
  }

  /// Whether any of these bytes of the stored object that holds `chunk` is cached or in flight.
  [[nodiscard]] bool HasAnyOf(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin,
                              uint64_t end);

  void SetCapacity(size_t capacity) { cache_.SetCapacity(capacity); }
  /// Memory is short: evicts ranges of `bytes`, or all ranges.
  void GiveUp(size_t bytes) { cache_.GiveUp(bytes); }
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

  // Index of ranges, cached and in flight.
  class Table {
   public:
    // The range that contains [begin, end).
    [[nodiscard]] std::optional<Key> Find(const ObjectKey& object, uint64_t begin, uint64_t end);
    [[nodiscard]] bool HasAnyOf(const Key& key);
    void Enter(const Key& key);
    /// `served`: number of its bytes that were read.
    void Leave(const Key& key, uint64_t served) noexcept;
    [[nodiscard]] bool IsWasteful(uint64_t most_unread) const;
    std::atomic<int64_t> unread = 0;  // fetched bytes not read so far

   private:
    mutable std::mutex mutex_;
    uint64_t fetched_ = 0;  // bytes of evicted ranges; guarded like the next two
    uint64_t wasted_ = 0;   // of these, never read
    // For each object, the beginnings and ends of its ranges; guarded by the mutex.
    std::unordered_map<ObjectKey, std::set<std::pair<uint64_t, uint64_t>>, ObjectKeyHash> objects_;
  };
  // Measures the speed of the store. Thread-safe.
  class Meter {
   public:
    void End(int64_t begun_ns, uint64_t bytes);
    // Bytes in flight at full speed.
    [[nodiscard]] uint64_t bytes_under_way() const;

   private:
    mutable std::mutex mutex_;
    double delay_s_ = 0;      // latency of a request without its bytes; 0: unknown
    double bytes_per_s_ = 0;  // highest measured speed
    int64_t since_ns_ = 0;    // beginning of the next measurement
    uint64_t bytes_ = 0;      // received since then
  };
  // The bytes of a range; its destructor removes the range from the table.
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
