// LruCache<K, V>: the one way to hold memory that may be given up.
//
// - Byte-charged: each entry says how many bytes it holds; the least recently used go first once
//   the sum passes the capacity. The newest entry of a split always stays, however large, so that
//   one object bigger than the budget is still loaded once and not once per use.
// - Split by hash: independent locks; no lock is ever held while a loader runs.
// - Ref-counted values: an evicted value lives on with whoever holds its shared_ptr.
// - Single-flight: of many concurrent GetOrLoad for one absent key, one runs the loader and the
//   others wait for its answer (kWouldBlock on a thread that may not wait, see waiting.h). A failed
//   load is not cached; it wakes everyone with the error. Only a load that failed because its own
//   thread may not wait is repeated by one that may.
//
// Every member may be called from any thread.
#pragma once

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
  uint64_t hits = 0;       // found, by Get() too
  uint64_t misses = 0;     // not found by GetOrLoad(): loaded, or waited for
  uint64_t evictions = 0;  // made room for others
  uint64_t bytes = 0;
  uint64_t limit = 0;  // of bytes
  uint64_t entries = 0;
};

template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruCache {
 public:
  using ValuePtr = std::shared_ptr<const Value>;

  /// What a loader gives: the value and the bytes it is charged for.
  struct Loaded {
    ValuePtr value;
    size_t charge;
  };

  explicit LruCache(size_t capacity_bytes, size_t splits = 16);

  LruCache(const LruCache&) = delete;
  LruCache& operator=(const LruCache&) = delete;

  /// The value if it is present, else null. Never waits for a load.
  [[nodiscard]] ValuePtr Get(const Key& key);

  /// The value if present; else runs `load` (once among all concurrent callers of this key) and
  /// keeps what it gives. `load` is called without any lock and may use this cache for other keys.
  /// An exception it throws is passed on, and is an error to those who wait for it.
  /// `outdated`: counts as absent; stays until `load` has given another value.
  [[nodiscard]] Result<ValuePtr> GetOrLoad(const Key& key,
                                           const std::function<Result<Loaded>()>& load,
                                           const ValuePtr& outdated = nullptr);

  /// Adds or replaces. A load under way for the key answers those who wait for it, but does not
  /// replace this newer value when it ends.
  void Put(const Key& key, ValuePtr value, size_t charge);

  /// Removes the entry if it still holds `expected`; with null, whatever it holds, and a load under
  /// way for the key is not kept when it ends.
  void Erase(const Key& key, const ValuePtr& expected = nullptr);

  /// Removes every entry for which `goes`, a bool(const Key&, const Value&), is true. It is called
  /// under a lock: it must not use this cache. Loads under way are kept when they end.
  template <typename Goes>
  void EraseIf(Goes goes);

  /// Removes every entry. Loads under way are kept when they end.
  void Clear();

  /// From now on; what is too much goes now.
  void SetCapacity(size_t capacity_bytes);

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
  // the sum of their charges; a key is in `flights` and in `map` at once only while an outdated
  // value is loaded again, or through Put.
  struct Split {
    mutable std::mutex mutex;
    Entries order;
    std::unordered_map<Key, typename Entries::iterator, Hash> map;
    std::unordered_map<Key, std::shared_ptr<Flight>, Hash> flights;
    size_t bytes = 0;
    uint64_t hits = 0, misses = 0, evictions = 0;

    // All under `mutex`. Entries that leave are moved to `dropped`, to be destroyed after it is
    // released.
    ValuePtr Find(const Key& key, const ValuePtr& outdated = nullptr) {
      const auto found = map.find(key);
      if (found == map.end()) return nullptr;
      if (outdated != nullptr && found->second->value == outdated) return nullptr;
      order.splice(order.begin(), order, found->second);
      ++hits;
      return found->second->value;
    }
    void Remove(typename Entries::iterator entry, Entries& dropped) {
      bytes -= entry->charge;
      map.erase(entry->key);
      dropped.splice(dropped.begin(), order, entry);
    }
    void Insert(const Key& key, ValuePtr value, size_t charge, size_t capacity, Entries& dropped) {
      if (const auto found = map.find(key); found != map.end()) Remove(found->second, dropped);
      order.push_front(Entry{key, std::move(value), charge});
      map.emplace(key, order.begin());
      bytes += charge;
      Evict(capacity, dropped);
    }
    void Evict(size_t capacity, Entries& dropped) {
      for (; bytes > capacity && order.size() > 1; ++evictions) {
        Remove(std::prev(order.end()), dropped);
      }
    }
  };

  Split& SplitOf(const Key& key) {
    // std::hash of an integer is the integer: mix before taking the remainder.
    const uint64_t hash = static_cast<uint64_t>(Hash{}(key)) * 0x9e3779b97f4a7c15ULL;
    return splits_[(hash >> 32) % split_count_];
  }
  Result<ValuePtr> Load(Split& split, const Key& key, const std::shared_ptr<Flight>& flight,
                        const std::function<Result<Loaded>()>& load);
  // Ends a flight: keeps what was loaded and answers those who wait.
  Result<ValuePtr> Land(Split& split, const Key& key, const std::shared_ptr<Flight>& flight,
                        const Result<Loaded>& loaded);

  const size_t split_count_;
  std::atomic<size_t> capacity_;
  std::atomic<size_t> split_capacity_;
  std::unique_ptr<Split[]> splits_;
};

// ---------------------------------------------------------------------------------------------

template <typename K, typename V, typename H>
LruCache<K, V, H>::LruCache(size_t capacity_bytes, size_t splits)
    : split_count_(splits == 0 ? 1 : splits),
      capacity_(capacity_bytes),
      split_capacity_(capacity_bytes / split_count_),
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
  Result<Loaded> loaded = Fail(ErrorCode::kIo, "loading this failed in another thread");
  try {
    loaded = load();
  } catch (const std::bad_alloc&) {
    loaded = Fail(ErrorCode::kTooLarge, "there is not enough memory");
  } catch (...) {
    (void)Land(split, key, flight, loaded);
    throw;
  }
  return Land(split, key, flight, loaded);
}

template <typename K, typename V, typename H>
Result<typename LruCache<K, V, H>::ValuePtr> LruCache<K, V, H>::Land(
    Split& split, const K& key, const std::shared_ptr<Flight>& flight,
    const Result<Loaded>& loaded) {
  Entries dropped;
  Result<ValuePtr> answer =
      loaded ? Result<ValuePtr>(loaded->value) : Result<ValuePtr>(Fail(loaded));
  {
    const std::lock_guard lock(split.mutex);
    if (loaded && !flight->discard) {
      split.Insert(key, loaded->value, loaded->charge, split_capacity_, dropped);
    }
    flight->answer = answer;
    if (const auto found = split.flights.find(key);
        found != split.flights.end() && found->second == flight) {
      split.flights.erase(found);
    }
  }
  flight->landed.notify_all();
  return answer;
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::Put(const K& key, ValuePtr value, size_t charge) {
  Split& split = SplitOf(key);
  Entries dropped;
  const std::lock_guard lock(split.mutex);
  if (const auto found = split.flights.find(key); found != split.flights.end()) {
    found->second->discard = true;
  }
  split.Insert(key, std::move(value), charge, split_capacity_, dropped);
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
  const auto found = split.map.find(key);
  if (found == split.map.end() || (expected != nullptr && found->second->value != expected)) return;
  split.Remove(found->second, dropped);
}

template <typename K, typename V, typename H>
template <typename Goes>
void LruCache<K, V, H>::EraseIf(Goes goes) {
  for (size_t i = 0; i < split_count_; ++i) {
    Split& split = splits_[i];
    Entries dropped;
    const std::lock_guard lock(split.mutex);
    for (auto at = split.order.begin(); at != split.order.end();) {
      const auto entry = at++;
      if (goes(entry->key, *entry->value)) split.Remove(entry, dropped);
    }
  }
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::Clear() {
  for (size_t i = 0; i < split_count_; ++i) {
    Entries dropped;
    const std::lock_guard lock(splits_[i].mutex);
    splits_[i].map.clear();
    dropped.swap(splits_[i].order);
    splits_[i].bytes = 0;
  }
}

template <typename K, typename V, typename H>
void LruCache<K, V, H>::SetCapacity(size_t capacity_bytes) {
  capacity_ = capacity_bytes;
  split_capacity_ = capacity_bytes / split_count_;
  for (size_t i = 0; i < split_count_; ++i) {
    Entries dropped;
    const std::lock_guard lock(splits_[i].mutex);
    splits_[i].Evict(split_capacity_, dropped);
  }
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
