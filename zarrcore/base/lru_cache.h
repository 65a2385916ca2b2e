// LruCache<K, V>: the cache for all memory that can be evicted.
//
// - Charged by bytes: each entry states how many bytes it holds, allocations included. Once the sum
//   exceeds the capacity, the least recently used entries are evicted. An entry larger than the
//   capacity is returned but not cached; while a caller holds its value, other callers get the same
//   value. After KeepLatestLarge(), the cache itself holds the latest large value while that value
//   is in use.
// - Split by hash: the keys are divided among several splits, each with its own lock. The capacity
//   is shared, and any split may use all of it. No lock is held while a loader runs.
// - Ref-counted values: an evicted value lives as long as any caller holds its shared_ptr.
// - Single-flight: if several threads call GetOrLoad() for the same absent key, one runs the loader
//   and the others wait for its result. On a thread that may not wait (waiting.h), the call fails
//   with kWouldBlock instead. A failed load is not cached; all waiters get its error. If a load
//   failed only because its thread may not wait, a waiter that may wait repeats the load.
//
// Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {

struct CacheStatistics {
  uint64_t hits = 0;       // calls of Get() and GetOrLoad() that found a cached value
  uint64_t misses = 0;     // calls of GetOrLoad() that found no cached value
  uint64_t evictions = 0;  // entries evicted to make room
  uint64_t bytes = 0;
  uint64_t limit = 0;  // bytes
  uint64_t entries = 0;
};

template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruCache {
 public:
  using ValuePtr = std::shared_ptr<const Value>;

  /// The result of a loader: the value, and the number of bytes that it counts against the
  /// capacity.
  struct Loaded {
    ValuePtr value;
    size_t charge;
  };

  explicit LruCache(size_t capacity_bytes, size_t splits = 16);

  LruCache(const LruCache&) = delete;
  LruCache& operator=(const LruCache&) = delete;

  /// Returns the value if it is cached, otherwise null. Never waits for a load.
  [[nodiscard]] ValuePtr Get(const Key& key);

  /// Returns the cached value. If no value is cached, one of the concurrent callers for `key` runs
  /// `load`, and its value is cached and returned to all of them. `load` is called with no lock
  /// held and may use this cache for other keys. An exception from `load` is rethrown to the caller
  /// that ran it; the waiting callers get an error. std::bad_alloc is not rethrown but becomes
  /// kNoMemory. A cached value equal to `outdated` counts as absent, and stays cached until `load`
  /// has returned another value.
  [[nodiscard]] Result<ValuePtr> GetOrLoad(const Key& key,
                                           const std::function<Result<Loaded>()>& load,
                                           const ValuePtr& outdated = nullptr);

  /// Adds or replaces an entry. A running load of the key still answers its waiters, but its result
  /// does not replace this newer value.
  void Put(const Key& key, ValuePtr value, size_t charge);

  /// Removes the entry of `key` if its value is `expected`. If `expected` is null, removes the
  /// entry regardless of its value, and discards the result of a running load of the key.
  void Erase(const Key& key, const ValuePtr& expected = nullptr);

  /// Removes every entry for which `goes`, a bool(const Key&, const Value&), returns true. `goes`
  /// is called under a lock and must not use this cache. Loads that are running are not affected;
  /// their results are cached.
  template <typename Goes>
  void EraseIf(Goes goes);

  /// Removes every entry. Loads that are running are not affected; their results are cached.
  void Clear();

  /// Sets the capacity in bytes, and evicts down to it immediately.
  void SetCapacity(size_t capacity_bytes);
  [[nodiscard]] size_t capacity() const { return capacity_; }

  /// Makes the cache hold the latest value that is larger than the capacity, until
  /// SweepLatestLarge() finds the value unused. A caller that reads a large value piece by piece
  /// then loads the value only one time. Call before any other use of the cache.
  void KeepLatestLarge() { keeps_latest_large_ = true; }
  /// Drops the latest large value if no large value was requested since the last call.
  void SweepLatestLarge();

  /// Evicts entries of `bytes` in total, or all entries, and drops the latest large value. Called
  /// when memory is short.
  void Evict(size_t bytes);

  [[nodiscard]] CacheStatistics statistics() const;

 private:
  struct Flight {
    CondVar landed;
    std::optional<Result<ValuePtr>> answer;
    // True if the key was erased or replaced during the load, so the result must not be cached.
    bool discard = false;
  };
  struct Entry {
    Key key;
    ValuePtr value;
    size_t charge;
  };
  using Entries = std::list<Entry>;
  // The entries whose hashes select this split. Invariant: `map` holds exactly the entries of
  // `order`, which is sorted from newest to oldest; `bytes` is the sum of their charges. A key is
  // in both `flights` (running loads) and `map` only while an outdated value is reloaded, or after
  // Put(). No key is in both `map` and `large`.
  struct Split {
    mutable Mutex mutex;
    Entries order GUARDED_BY(mutex);
    std::unordered_map<Key, typename Entries::iterator, Hash> map GUARDED_BY(mutex);
    std::unordered_map<Key, std::weak_ptr<const Value>, Hash> large
        GUARDED_BY(mutex);  // values that are too large to be cached, while callers still hold them
    std::unordered_map<Key, std::shared_ptr<Flight>, Hash> flights GUARDED_BY(mutex);
    // True if a value of `large` was used since the last SweepLatestLarge().
    bool large_was_used GUARDED_BY(mutex) = false;
    size_t bytes GUARDED_BY(mutex) = 0;
    uint64_t hits GUARDED_BY(mutex) = 0;
    uint64_t misses GUARDED_BY(mutex) = 0;
    uint64_t evictions GUARDED_BY(mutex) = 0;

    // The functions below move removed values to `dropped`, which the caller destroys after
    // unlocking.
    ValuePtr Find(const Key& key, const ValuePtr& outdated = nullptr) REQUIRES(mutex) {
      const auto found = map.find(key);
      ValuePtr value = found == map.end() ? FindLarge(key) : found->second->value;
      if (value == nullptr || (outdated != nullptr && value == outdated)) return nullptr;
      if (found != map.end()) order.splice(order.begin(), order, found->second);
      if (found == map.end()) large_was_used = true;
      ++hits;
      return value;
    }
    [[nodiscard]] ValuePtr FindLarge(const Key& key) const REQUIRES(mutex) {
      if (large.empty()) return nullptr;
      const auto found = large.find(key);
      return found == large.end() ? nullptr : found->second.lock();
    }
    void Remove(typename Entries::iterator entry, Entries& dropped) REQUIRES(mutex) {
      bytes -= entry->charge;
      map.erase(entry->key);
      dropped.splice(dropped.begin(), order, entry);
    }
    // Removes the entry of `key` if it holds `expected`, or any entry if `expected` is null.
    void Remove(const Key& key, const ValuePtr& expected, Entries& dropped) REQUIRES(mutex) {
      if (const auto found = map.find(key); found != map.end()) {
        if (expected == nullptr || found->second->value == expected) Remove(found->second, dropped);
      } else if (expected == nullptr || FindLarge(key) == expected) {
        large.erase(key);
      }
    }
    void Insert(const Key& key, ValuePtr value, size_t charge, Entries& dropped) REQUIRES(mutex) {
      Remove(key, nullptr, dropped);
      order.push_front(Entry{key, std::move(value), charge});
      try {
        map.emplace(key, order.begin());
      } catch (...) {
        order.pop_front();
        throw;
      }
      bytes += charge;
    }
    void InsertLarge(const Key& key, const ValuePtr& value, Entries& dropped) REQUIRES(mutex) {
      Remove(key, nullptr, dropped);
      std::erase_if(large, [](const auto& one) { return one.second.expired(); });
      large.emplace(key, value);
    }
  };

  Split& SplitOf(const Key& key) {
    // std::hash of an integer is the integer itself, so mix its bits before taking the remainder.
    const uint64_t hash = static_cast<uint64_t>(Hash{}(key)) * 0x9e3779b97f4a7c15ULL;
    return splits_[(hash >> 32) % split_count_];
  }
  // Adds the value to the split. If memory for the entry runs out, the key is left without an
  // entry. Call MakeRoom() afterwards.
  void Keep(Split& split, const Key& key, ValuePtr value, size_t charge, Entries& dropped) noexcept
      REQUIRES(split.mutex);
  // Evicts from the splits in turn until the sum of all charges is within the capacity. If the
  // split `newest` has only one entry, that entry stays.
  void MakeRoom(const Split* newest = nullptr) { EvictDownTo(capacity_, newest); }
  void EvictDownTo(size_t bytes, const Split* newest = nullptr);
  // Keeps a large value alive until the next call replaces it; null only drops the previous value.
  // Call with no lock held.
  void SetLatestLarge(ValuePtr value);
  Result<ValuePtr> Load(Split& split, const Key& key, const std::shared_ptr<Flight>& flight,
                        const std::function<Result<Loaded>()>& load);
  // Ends a load: caches the loaded value and wakes the waiters with the result. Must not throw, or
  // the waiters would wait forever.
  Result<ValuePtr> Land(Split& split, const Key& key, const std::shared_ptr<Flight>& flight,
                        const Result<Loaded>& loaded) noexcept;
  static Result<ValuePtr> AnswerOf(const Result<Loaded>& loaded) noexcept {
    if (loaded) return loaded->value;
    try {
      return Fail(loaded);
    } catch (const std::bad_alloc&) {
      // The error has no message, because copying a message would need memory.
      return tl::unexpected(Error{loaded.error().code, {}});
    }
  }

  const size_t split_count_;
  std::atomic<size_t> capacity_;
  std::atomic<size_t> bytes_ = 0;  // the sum of the charges in all splits
  // Index of the split from which EvictDownTo() evicts next.
  std::atomic<size_t> next_victim_ = 0;
  std::unique_ptr<Split[]> splits_;
  bool keeps_latest_large_ = false;
  Mutex latest_mutex_;
  ValuePtr latest_large_ GUARDED_BY(latest_mutex_);  // keeps its weak pointer in Split::large valid
};

// ---------------------------------------------------------------------------------------------

template <typename K, typename V, typename H>
LruCache<K, V, H>::LruCache(size_t capacity_bytes, size_t splits)
    : split_count_(splits == 0 ? 1 : splits),
      capacity_(capacity_bytes),
      splits_(std::make_unique<Split[]>(split_count_)) {}

template <typename K, typename V, typename H>
typename LruCache<K, V, H>::ValuePtr LruCache<K, V, H>::Get(const K& key) {
  Split& split = SplitOf(key);
  const MutexLock lock(split.mutex);
  return split.Find(key);
}

template <typename K, typename V, typename H>
Result<typename LruCache<K, V, H>::ValuePtr> LruCache<K, V, H>::GetOrLoad(
    const K& key, const std::function<Result<Loaded>()>& load, const ValuePtr& outdated) {
  Split& split = SplitOf(key);
  for (bool is_first = true;; is_first = false) {
    MutexLock lock(split.mutex);
    if (ValuePtr value = split.Find(key, outdated)) return value;
    if (is_first) ++split.misses;
    const auto found = split.flights.find(key);
    if (found == split.flights.end()) {
      const auto flight = std::make_shared<Flight>();
      split.flights.emplace(key, flight);
      lock.unlock();
      return Load(split, key, flight, load);
    }
    if (!MayWait()) return Fail(ErrorCode::kWouldBlock, "another thread is loading the value");
    const std::shared_ptr<Flight> flight = found->second;
    flight->landed.wait(lock, [&] { return flight->answer.has_value(); });
    if (*flight->answer || flight->answer->error().code != ErrorCode::kWouldBlock) {
      return *flight->answer;
    }
  }
}

template <typename K, typename V, typename H>
Result<typename LruCache<K, V, H>::ValuePtr> LruCache<K, V, H>::Load(
    Split& split, const K& key, const std::shared_ptr<Flight>& flight,
    const std::function<Result<Loaded>()>& load) {
  Result<Loaded> loaded = tl::unexpected(Error{ErrorCode::kNoMemory, {}});
  try {
    loaded = load();
  } catch (const std::bad_alloc&) {
  } catch (...) {
    loaded = Fail(ErrorCode::kIo, "the load failed in another thread");
    (void)Land(split, key, flight, loaded);
    throw;
  }
  return Land(split, key, flight, loaded);
}

template <typename K, typename V, typename H>
Result<typename LruCache<K, V, H>::ValuePtr> LruCache<K, V, H>::Land(
    Split& split, const K& key, const std::shared_ptr<Flight>& flight,
    const Result<Loaded>& loaded) noexcept {
  Entries dropped;
  {
    const MutexLock lock(split.mutex);
    if (loaded && !flight->discard) Keep(split, key, loaded->value, loaded->charge, dropped);
    flight->answer.emplace(AnswerOf(loaded));
    if (const auto found = split.flights.find(key);
        found != split.flights.end() && found->second == flight) {
      split.flights.erase(found);
    }
  }
  flight->landed.notify_all();
  if (loaded && loaded->charge > capacity_) SetLatestLarge(loaded->value);
  MakeRoom(&split);
  return AnswerOf(loaded);
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::SetLatestLarge(ValuePtr value) {
  if (value != nullptr && !keeps_latest_large_) return;
  const MutexLock lock(latest_mutex_);
  // After the swap, `value` holds the previous value, which is destroyed after unlocking.
  latest_large_.swap(value);
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::SweepLatestLarge() {
  bool was_used = false;
  for (size_t i = 0; i < split_count_; ++i) {
    const MutexLock lock(splits_[i].mutex);
    was_used |= std::exchange(splits_[i].large_was_used, false);
  }
  if (!was_used) SetLatestLarge(nullptr);
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::Evict(size_t bytes) {
  SetLatestLarge(nullptr);
  const size_t held = bytes_;
  EvictDownTo(held - std::min(held, bytes));
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::Keep(Split& split, const K& key, ValuePtr value, size_t charge,
                             Entries& dropped) noexcept {
  const size_t before = split.bytes;
  try {
    if (charge > capacity_) {
      split.InsertLarge(key, value, dropped);
    } else {
      split.Insert(key, std::move(value), charge, dropped);
    }
  } catch (const std::bad_alloc&) {
    // The entry could not be allocated. The value is returned to the caller, but not cached.
  }
  bytes_ += split.bytes - before;
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::EvictDownTo(size_t bytes, const Split* newest) {
  for (size_t in_vain = 0; bytes_ > bytes && in_vain < split_count_;) {
    Split& split = splits_[next_victim_++ % split_count_];
    Entries dropped;
    const MutexLock lock(split.mutex);
    if (split.order.size() <= (&split == newest ? 1 : 0)) {
      ++in_vain;
      continue;
    }
    in_vain = 0;
    const size_t before = split.bytes;
    split.Remove(std::prev(split.order.end()), dropped);
    ++split.evictions;
    bytes_ -= before - split.bytes;
  }
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::Put(const K& key, ValuePtr value, size_t charge) {
  Split& split = SplitOf(key);
  {
    Entries dropped;
    const MutexLock lock(split.mutex);
    if (const auto found = split.flights.find(key); found != split.flights.end()) {
      found->second->discard = true;
    }
    Keep(split, key, value, charge, dropped);
  }
  if (charge > capacity_) SetLatestLarge(std::move(value));
  MakeRoom(&split);
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::Erase(const K& key, const ValuePtr& expected) {
  Split& split = SplitOf(key);
  Entries dropped;
  const MutexLock lock(split.mutex);
  if (const auto found = split.flights.find(key);
      expected == nullptr && found != split.flights.end()) {
    found->second->discard = true;
    // Later callers start a load of their own instead of waiting for the running load.
    split.flights.erase(found);
  }
  const size_t before = split.bytes;
  split.Remove(key, expected, dropped);
  bytes_ -= before - split.bytes;
}

template <typename K, typename V, typename H>
template <typename Goes>
void LruCache<K, V, H>::EraseIf(Goes goes) {
  for (size_t i = 0; i < split_count_; ++i) {
    Split& split = splits_[i];
    Entries dropped;
    const MutexLock lock(split.mutex);
    const size_t before = split.bytes;
    for (auto at = split.order.begin(); at != split.order.end();) {
      const auto entry = at++;
      if (goes(entry->key, *entry->value)) split.Remove(entry, dropped);
    }
    bytes_ -= before - split.bytes;
    std::erase_if(split.large, [&](const auto& one) {
      const ValuePtr value = one.second.lock();
      return value == nullptr || goes(one.first, *value);
    });
  }
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::Clear() {
  SetLatestLarge(nullptr);
  for (size_t i = 0; i < split_count_; ++i) {
    Entries dropped;
    const MutexLock lock(splits_[i].mutex);
    splits_[i].map.clear();
    splits_[i].large.clear();
    dropped.swap(splits_[i].order);
    bytes_ -= std::exchange(splits_[i].bytes, 0);
  }
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::SetCapacity(size_t capacity_bytes) {
  capacity_ = capacity_bytes;
  MakeRoom();
}

template <typename K, typename V, typename H>
CacheStatistics LruCache<K, V, H>::statistics() const {
  CacheStatistics sum;
  sum.limit = capacity_;
  for (size_t i = 0; i < split_count_; ++i) {
    const MutexLock lock(splits_[i].mutex);
    sum.hits += splits_[i].hits;
    sum.misses += splits_[i].misses;
    sum.evictions += splits_[i].evictions;
    sum.bytes += splits_[i].bytes;
    sum.entries += splits_[i].order.size();
  }
  return sum;
}

}  // namespace zarrfs
