// LruCache<K, V>: the one way to hold memory that can be evicted.
//
// - Charged by bytes: each entry states how many bytes it holds, allocations included; the least
//   recently used are evicted once the sum exceeds the capacity. An entry larger than the capacity
//   is returned but not kept; while somebody holds it, other callers get the same one.
//   KeepLatestLarge() makes the cache itself hold the latest such entry until it is idle.
// - Split by hash: independent locks, but one capacity: any split may use all of it. No lock is
//   ever held while a loader runs.
// - Ref-counted values: an evicted value lives as long as somebody holds its shared_ptr.
// - Single-flight: of many concurrent GetOrLoad for one absent key, one runs the loader and the
//   others wait for its answer (kWouldBlock on a thread that may not wait, see waiting.h). A failed
//   load is not cached; all waiters get the error. A load that failed only because its own thread
//   may not wait is repeated by a waiter that may.
//
// Every member may be called from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "zarrcore/base/result.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {

struct CacheStatistics {
  uint64_t hits = 0;       // including Get()
  uint64_t misses = 0;     // GetOrLoad() had to load, or wait for a load
  uint64_t evictions = 0;  // to make room
  uint64_t bytes = 0;
  uint64_t limit = 0;  // bytes
  uint64_t entries = 0;
};

template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruCache {
 public:
  using ValuePtr = std::shared_ptr<const Value>;

  /// The result of a load: the value and the bytes it is charged for.
  struct Loaded {
    ValuePtr value;
    size_t charge;
  };

  explicit LruCache(size_t capacity_bytes, size_t splits = 16);

  LruCache(const LruCache&) = delete;
  LruCache& operator=(const LruCache&) = delete;

  /// The value if it is cached, else null. Never waits for a load.
  [[nodiscard]] ValuePtr Get(const Key& key);

  /// The cached value. Otherwise runs `load`, once among all concurrent callers of this key, and
  /// keeps its value. `load` is called without any lock and may use this cache for other keys. An
  /// exception of `load` is rethrown here and is an error for the waiters. `outdated`: counts as
  /// absent; stays until `load` has returned another value.
  [[nodiscard]] Result<ValuePtr> GetOrLoad(const Key& key,
                                           const std::function<Result<Loaded>()>& load,
                                           const ValuePtr& outdated = nullptr);

  /// Adds or replaces. A load in flight for the key still answers its waiters, but does not replace
  /// this newer value.
  void Put(const Key& key, ValuePtr value, size_t charge);

  /// Removes the entry if it still holds `expected`. With null, removes any entry, and discards the
  /// result of a load in flight for the key.
  void Erase(const Key& key, const ValuePtr& expected = nullptr);

  /// Removes every entry for which `goes`, a bool(const Key&, const Value&), is true. It is called
  /// under a lock: it must not use this cache. Loads in flight are kept when they end.
  template <typename Goes>
  void EraseIf(Goes goes);

  /// Removes every entry. Loads in flight are kept when they end.
  void Clear();

  /// Evicts down to the new capacity immediately.
  void SetCapacity(size_t capacity_bytes);
  [[nodiscard]] size_t capacity() const { return capacity_; }

  /// Keeps the latest entry larger than the capacity until SweepLatestLarge() finds it unused, so a
  /// caller who reads it piece by piece loads it once. Call before any other use.
  void KeepLatestLarge() { keeps_latest_large_ = true; }
  /// Drops that entry if nobody has asked for it since the last call.
  void SweepLatestLarge();

  /// Memory is short: evicts entries of `bytes`, or all entries.
  void GiveUp(size_t bytes);

  [[nodiscard]] CacheStatistics statistics() const;

 private:
  struct Flight {
    std::condition_variable landed;
    std::optional<Result<ValuePtr>> answer;
    bool discard = false;  // erased or superseded: answer the waiters, keep nothing
  };
  struct Entry {
    Key key;
    ValuePtr value;
    size_t charge;
  };
  using Entries = std::list<Entry>;
  // Invariant, under `mutex`: `map` holds exactly the entries of `order`, newest first; `bytes` is
  // the sum of their charges. A key is in both `flights` and `map` only while an outdated value is
  // reloaded, or after Put. No key is in both `map` and `large`.
  struct Split {
    mutable std::mutex mutex;
    Entries order;
    std::unordered_map<Key, typename Entries::iterator, Hash> map;
    std::unordered_map<Key, std::weak_ptr<const Value>, Hash> large;  // handed out, not kept
    std::unordered_map<Key, std::shared_ptr<Flight>, Hash> flights;
    bool large_was_used = false;  // since the last sweep
    size_t bytes = 0;
    uint64_t hits = 0, misses = 0, evictions = 0;

    // These require `mutex`. Removed entries are moved to `dropped`, to be destroyed after
    // unlocking.
    ValuePtr Find(const Key& key, const ValuePtr& outdated = nullptr) {
      const auto found = map.find(key);
      ValuePtr value = found == map.end() ? FindLarge(key) : found->second->value;
      if (value == nullptr || (outdated != nullptr && value == outdated)) return nullptr;
      if (found != map.end()) order.splice(order.begin(), order, found->second);
      if (found == map.end()) large_was_used = true;
      ++hits;
      return value;
    }
    [[nodiscard]] ValuePtr FindLarge(const Key& key) const {
      if (large.empty()) return nullptr;
      const auto found = large.find(key);
      return found == large.end() ? nullptr : found->second.lock();
    }
    void Remove(typename Entries::iterator entry, Entries& dropped) {
      bytes -= entry->charge;
      map.erase(entry->key);
      dropped.splice(dropped.begin(), order, entry);
    }
    // Removes the entry that holds `expected`, or any entry if that is null.
    void Remove(const Key& key, const ValuePtr& expected, Entries& dropped) {
      if (const auto found = map.find(key); found != map.end()) {
        if (expected == nullptr || found->second->value == expected) Remove(found->second, dropped);
      } else if (expected == nullptr || FindLarge(key) == expected) {
        large.erase(key);
      }
    }
    void Insert(const Key& key, ValuePtr value, size_t charge, Entries& dropped) {
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
    void InsertLarge(const Key& key, const ValuePtr& value, Entries& dropped) {
      Remove(key, nullptr, dropped);
      std::erase_if(large, [](const auto& one) { return one.second.expired(); });
      large.emplace(key, value);
    }
  };

  Split& SplitOf(const Key& key) {
    // std::hash of an integer is the integer: mix before taking the remainder.
    const uint64_t hash = static_cast<uint64_t>(Hash{}(key)) * 0x9e3779b97f4a7c15ULL;
    return splits_[(hash >> 32) % split_count_];
  }
  // Keeps the value, unless there is no memory for the entry. The caller holds the split's mutex
  // and calls MakeRoom() afterwards.
  void Keep(Split& split, const Key& key, ValuePtr value, size_t charge, Entries& dropped) noexcept;
  // Evicts from all splits in turn until the sum fits the capacity; spares the only entry of
  // `newest`.
  void MakeRoom(const Split* newest = nullptr) { EvictDownTo(capacity_, newest); }
  void EvictDownTo(size_t bytes, const Split* newest = nullptr);
  // Holds the value until another replaces it. Called without a lock.
  void SetLatestLarge(ValuePtr value);
  Result<ValuePtr> Load(Split& split, const Key& key, const std::shared_ptr<Flight>& flight,
                        const std::function<Result<Loaded>()>& load);
  // Ends a flight: keeps the loaded value and answers the waiters. Must not throw, or they would
  // wait forever.
  Result<ValuePtr> Land(Split& split, const Key& key, const std::shared_ptr<Flight>& flight,
                        const Result<Loaded>& loaded) noexcept;
  static Result<ValuePtr> AnswerOf(const Result<Loaded>& loaded) noexcept {
    if (loaded) return loaded->value;
    try {
      return Fail(loaded);
    } catch (const std::bad_alloc&) {
      return tl::unexpected(Error{loaded.error().code, {}});  // without its message
    }
  }

  const size_t split_count_;
  std::atomic<size_t> capacity_;
  std::atomic<size_t> bytes_ = 0;        // sum over all splits
  std::atomic<size_t> next_victim_ = 0;  // the split to evict from next
  std::unique_ptr<Split[]> splits_;
  bool keeps_latest_large_ = false;
  std::mutex latest_mutex_;  // guards latest_large_
  ValuePtr latest_large_;    // keeps Split::large alive
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
  const std::lock_guard lock(split.mutex);
  return split.Find(key);
}

template <typename K, typename V, typename H>
Result<typename LruCache<K, V, H>::ValuePtr> LruCache<K, V, H>::GetOrLoad(
    const K& key, const std::function<Result<Loaded>()>& load, const ValuePtr& outdated) {
  Split& split = SplitOf(key);
  for (bool is_first = true;; is_first = false) {
    std::unique_lock lock(split.mutex);
    if (ValuePtr value = split.Find(key, outdated)) return value;
    if (is_first) ++split.misses;
    const auto found = split.flights.find(key);
    if (found == split.flights.end()) {
      const auto flight = std::make_shared<Flight>();
      split.flights.emplace(key, flight);
      lock.unlock();
      return Load(split, key, flight, load);
    }
    if (!MayWait()) return Fail(ErrorCode::kWouldBlock, "another thread is loading this");
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
    loaded = Fail(ErrorCode::kIo, "loading this failed in another thread");
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
    const std::lock_guard lock(split.mutex);
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
  const std::lock_guard lock(latest_mutex_);
  latest_large_.swap(value);  // destroyed after unlocking
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::SweepLatestLarge() {
  bool was_used = false;
  for (size_t i = 0; i < split_count_; ++i) {
    const std::lock_guard lock(splits_[i].mutex);
    was_used |= std::exchange(splits_[i].large_was_used, false);
  }
  if (!was_used) SetLatestLarge(nullptr);
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::GiveUp(size_t bytes) {
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
    // Returned but not kept.
  }
  bytes_ += split.bytes - before;
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::EvictDownTo(size_t bytes, const Split* newest) {
  for (size_t in_vain = 0; bytes_ > bytes && in_vain < split_count_;) {
    Split& split = splits_[next_victim_++ % split_count_];
    Entries dropped;
    const std::lock_guard lock(split.mutex);
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
    const std::lock_guard lock(split.mutex);
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
  const std::lock_guard lock(split.mutex);
  if (const auto found = split.flights.find(key);
      expected == nullptr && found != split.flights.end()) {
    found->second->discard = true;
    // Later callers start a load of their own instead of joining this one.
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
    const std::lock_guard lock(split.mutex);
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
    const std::lock_guard lock(splits_[i].mutex);
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
    const std::lock_guard lock(splits_[i].mutex);
    sum.hits += splits_[i].hits;
    sum.misses += splits_[i].misses;
    sum.evictions += splits_[i].evictions;
    sum.bytes += splits_[i].bytes;
    sum.entries += splits_[i].order.size();
  }
  return sum;
}

}  // namespace zarrfs
