// StoredRanges: bytes of the stored objects of a slow store, fetched in ranges of whole chunks,
// each once, and kept.
//
// The kernel reads a chunk file in pieces; from a slow store its chunk is fetched once (one larger
// than kBlock in blocks), and the pieces are served from here. Fetch() fetches a range of many
// chunks ahead: whoever reads one of them meanwhile waits for it and does not ask again. Ranges
// overlap only where chunks do, or where single ones had been read before the range that has them.
//
// Memory comes from ProcessMemory(). Where there is none, reading goes to the store.
// Thread-safe; no lock is held while the store is asked.
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
  /// Bytes that are fetched at once, at most.
  static constexpr uint64_t kBlock = 8u << 20;

  /// `capacity`: bytes to keep.
  explicit StoredRanges(size_t capacity) : cache_(capacity, kSplits) {}

  /// Fills `out` with the bytes of a chunk from `offset` on, which it must have. Fails as
  /// Object::Read() does.
  [[nodiscard]] Result<void> Read(const ChunkSource& source, const ChunkLocation& chunk,
                                  uint64_t offset, std::span<std::byte> out);

  /// Fetches bytes [begin, end) of the stored object that has `chunk`, at most kBlock, unless they
  /// are there or on their way.
  [[nodiscard]] Result<void> Fetch(const ChunkSource& source, const ChunkLocation& chunk,
                                   uint64_t begin, uint64_t end);
  /// From now on who reads a chunk in [begin, end) takes it for fetched and fetches all of it.
  void Plan(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin, uint64_t end);
  /// It is not to be fetched after all.
  void Drop(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin, uint64_t end);

  /// Whether all of a chunk, of at most kBlock bytes, is there, on its way or planned.
  [[nodiscard]] bool Has(const ChunkSource& source, const ChunkLocation& chunk);

  /// Bytes that are worth fetching ahead of a reader: eight times what is on its way at the speed
  /// that was seen, but no more than a quarter of what is kept.
  [[nodiscard]] uint64_t Ahead() const;
  /// Bytes that are worth fetching at once: those that fill the link twice.
  [[nodiscard]] uint64_t AtOnce() const;
  /// Much of what was fetched was never read, or not yet.
  [[nodiscard]] bool IsWasteful() const {
    return table_->IsWasteful(cache_.statistics().limit / 4 + Ahead());
  }

  /// Whether any of these bytes of the stored object that has `chunk` is there, or to come.
  [[nodiscard]] bool HasAnyOf(const ChunkSource& source, const ChunkLocation& chunk, uint64_t begin,
                              uint64_t end);

  void SetCapacity(size_t capacity) { cache_.SetCapacity(capacity); }
  /// Memory is short: forgets ranges of `bytes`, or all there are.
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

  // Which ranges there are: of values in the cache, and of those that are to come.
  class Table {
   public:
    // The range that has [begin, end).
    [[nodiscard]] std::optional<Key> Find(const ObjectKey& object, uint64_t begin, uint64_t end);
    [[nodiscard]] bool HasAnyOf(const Key& key);
    void Enter(const Key& key);
    /// `served`: bytes of it that were read.
    void Leave(const Key& key, uint64_t served) noexcept;
    [[nodiscard]] bool IsWasteful(uint64_t most_unread) const;
    std::atomic<int64_t> unread = 0;  // bytes that have come and were not read so far

   private:
    mutable std::mutex mutex_;
    uint64_t fetched_ = 0;  // bytes of ranges that are gone; guarded, as the next ones
    uint64_t wasted_ = 0;   // of these, never read
    // By object, the ranges' begins and ends; guarded by it.
    std::unordered_map<ObjectKey, std::set<std::pair<uint64_t, uint64_t>>, ObjectKeyHash> objects_;
  };
  // How fast the store is. Thread-safe.
  class Meter {
   public:
    void End(int64_t begun_ns, uint64_t bytes);
    // Bytes on their way at full speed.
    [[nodiscard]] uint64_t bytes_under_way() const;

   private:
    mutable std::mutex mutex_;
    double delay_s_ = 0;      // of a request without its bytes; 0: unknown
    double bytes_per_s_ = 0;  // the most that was seen
    int64_t since_ns_ = 0;    // of the next one
    uint64_t bytes_ = 0;      // that have come since
  };
  // The bytes of a range, which leaves the table with them.
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
