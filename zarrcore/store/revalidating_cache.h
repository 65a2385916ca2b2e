// RevalidatingCache<Key, Value>: caches values computed from a store's content, and revalidates a
// value that is older than the caller accepts.
//
//             Load()                      older than max_age
//   absent ─────────────▶ fresh ───────────────────────────────────▶ stale
//      ▲                  │  ▲ ▲                                     │ │ │
//      │       racy: used │  │ └───── Revalidate() is kCurrent ──────┘ │ │
//      │  once, forgotten │  └─────── kUnknown, then Load() ───────────┘ │
//      └──────────────────┴────────── kReplaced or kNotFound ────────────┘
//
// Only this class implements:
// - single flight: if many threads need one value, one thread loads it, without holding a lock;
// - refusal: a thread that may not wait (base/waiting.h) gets kWouldBlock instead of waiting for
//   another thread's load. Its own refusal does not fail threads that may wait;
// - age: a value that another thread began to load before this call is revalidated if it is too
//   old; a value made from a remembered answer is as old as that answer (base/answer_age.h);
// - racy versions (IsRacy): Get() waits one time until a racy version is no longer racy. A version
//   that is racy afterwards is returned, but not cached;
// - replacement: an object that is replaced during a load (kStale) is loaded again, up to
//   kMaxAttempts times.
//
// `Value` has a member `mutable Freshness freshness`, which only this class sets. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// The result of revalidating a cached value.
enum class Revalidation {
  kCurrent,   // the store still has this value
  kReplaced,  // the value is outdated, and is evicted
  kUnknown,   // only a new load can tell if the value is current; it stays cached until then
};

template <typename Key, typename Value, typename Hash = std::hash<Key>>
class RevalidatingCache {
 public:
  using Cache = LruCache<Key, Value, Hash>;
  using ValuePtr = typename Cache::ValuePtr;
  using Loaded = typename Cache::Loaded;
  /// The value or an error, and how long it is valid. The only error that can have a known validity
  /// is kNotFound. No error is cached.
  using Answer = Valid<Result<ValuePtr>>;

  /// Reads one value from the store. A Loader is made for one call of Get(), and used on that
  /// call's thread, never under a lock. It may use the same cache for other keys.
  class Loader {
   public:
    virtual ~Loader() = default;
    /// Begins to watch the objects on which the value depends. Called before all other functions.
    virtual Validity Watch() { return {}; }
    /// Checks a cached value. kNotFound if its object no longer exists. After any other error the
    /// value stays cached.
    virtual Result<Revalidation> Revalidate(const ValuePtr& known) = 0;
    /// Loads the value. If Revalidate() has returned kUnknown, may return the cached value itself.
    virtual Result<Loaded> Load() = 0;
    /// Returns how long a value is valid that was loaded or revalidated after Watch() returned
    /// `watched`.
    virtual Validity ValidityOf(const Value& /*value*/, Validity watched) { return watched; }
    /// True if the object may change again without changing its version (IsRacy() in validity.h).
    /// The value is then used but not cached.
    virtual bool IsRacy(const Value& /*value*/) { return false; }
    /// Returns when the object from which the value was made last changed (Version::ctime_ns);
    /// nullopt for values made from several objects.
    virtual std::optional<int64_t> ChangedNs(const Value& /*value*/) { return std::nullopt; }
    /// Called when a value was evicted because the object was replaced or its version is racy.
    virtual void OnForgotten(const ValuePtr& /*old*/) {}
  };

  RevalidatingCache(std::shared_ptr<const Store> store, size_t capacity_bytes, size_t splits = 16,
                    AnswerReuse reuse = {})
      : store_(std::move(store)), reuse_(reuse), cache_(capacity_bytes, splits) {}

  /// Returns a value that is known to be current or was checked less than `max_age` ago.
  [[nodiscard]] Answer Get(const Key& key, Age max_age, Loader& loader);

  /// Like Get(), but never loads a value. Returns null if no value is cached, if the value was
  /// replaced, or if only a load can tell whether it is current.
  [[nodiscard]] Answer GetCached(const Key& key, Age max_age, Loader& loader);

  /// Returns the cached value regardless of its age, or null. Sends no request to the store.
  [[nodiscard]] ValuePtr Find(const Key& key) { return cache_.Get(key); }

  /// Returns the cached value if `is_it` accepts it, otherwise loads a value. For callers that need
  /// one of several successive versions of a key. Ignores the age of the value.
  template <typename IsIt>
  [[nodiscard]] Result<ValuePtr> GetVersion(const Key& key, IsIt is_it,
                                            const std::function<Result<Loaded>()>& load);

  /// See LruCache::Erase().
  void Erase(const Key& key, const ValuePtr& expected = nullptr) { cache_.Erase(key, expected); }
  void SetCapacity(size_t capacity_bytes) { cache_.SetCapacity(capacity_bytes); }
  void KeepLatestLarge() { cache_.KeepLatestLarge(); }
  void SweepLatestLarge() { cache_.SweepLatestLarge(); }
  void Evict(size_t bytes) { cache_.Evict(bytes); }
  [[nodiscard]] CacheStatistics statistics() const { return cache_.statistics(); }

 private:
  static constexpr int kMaxAttempts = 3;

  // The state of one call of Get() or GetCached(). `asked` is the Moment before the first request
  // to the store; `watched` is what Loader::Watch() returned.
  struct Query {
    const Key& key;
    Loader& loader;
    Moment asked;
    Validity watched;
  };
  Query Ask(const Key& key, Age max_age, Loader& loader) const;
  Answer Current(const ValuePtr& value) const { return {value, value->freshness.validity()}; }
  Answer Checked(const Query& query, const ValuePtr& value) const;
  // Returns `known` if it is current, or null if it is not. Sets `is_unknown` if only a load can
  // tell whether it is current.
  Answer Revalidate(const Query& query, const ValuePtr& known, bool& is_unknown);

  const std::shared_ptr<const Store> store_;
  const AnswerReuse reuse_;
  Cache cache_;
};

// ---------------------------------------------------------------------------------------------

template <typename K, typename V, typename H>
typename RevalidatingCache<K, V, H>::Query RevalidatingCache<K, V, H>::Ask(const K& key,
                                                                           Age max_age,
                                                                           Loader& loader) const {
  Query query{key, loader, Moment::Now(*store_), {}};
  // A caller that accepts any age needs no proof of validity, so do not watch.
  if (max_age != kAnyAge && query.asked.validity().is_known()) {
    query.watched = query.asked.validity() & loader.Watch();
  }
  return query;
}

template <typename K, typename V, typename H>
typename RevalidatingCache<K, V, H>::Answer RevalidatingCache<K, V, H>::Checked(
    const Query& query, const ValuePtr& value) const {
  const auto changed_ns = query.loader.ChangedNs(*value);
  const Moment asked{OldestAnswer::Or(query.asked.steady_ns), query.asked.change_count};
  value->freshness.Set(asked, query.loader.ValidityOf(*value, query.watched),
                       changed_ns ? reuse_.For(*changed_ns) : Age{0});
  return Current(value);
}

template <typename K, typename V, typename H>
typename RevalidatingCache<K, V, H>::Answer RevalidatingCache<K, V, H>::Revalidate(
    const Query& query, const ValuePtr& known, bool& is_unknown) {
  const Result<Revalidation> found = query.loader.Revalidate(known);
  if (found && *found == Revalidation::kCurrent) return Checked(query, known);
  is_unknown = found && *found == Revalidation::kUnknown;
  const bool is_gone = !found && found.error().code == ErrorCode::kNotFound;
  if (is_gone || (found && *found == Revalidation::kReplaced)) {
    cache_.Erase(query.key, known);
    query.loader.OnForgotten(known);
  }
  if (!found) return {Fail(found), is_gone ? query.watched : Validity()};
  return {ValuePtr(), Validity()};
}

template <typename K, typename V, typename H>
typename RevalidatingCache<K, V, H>::Answer RevalidatingCache<K, V, H>::GetCached(const K& key,
                                                                                  Age max_age,
                                                                                  Loader& loader) {
  const ValuePtr known = cache_.Get(key);
  if (known == nullptr) return {ValuePtr(), Validity()};
  if (known->freshness.IsFresh(*store_, max_age)) return Current(known);
  const AcceptedAnswers accepted(max_age);
  const OldestAnswer oldest;
  bool is_unknown = false;
  return Revalidate(Ask(key, max_age, loader), known, is_unknown);
}

template <typename K, typename V, typename H>
typename RevalidatingCache<K, V, H>::Answer RevalidatingCache<K, V, H>::Get(const K& key,
                                                                            Age max_age,
                                                                            Loader& loader) {
  ValuePtr known = cache_.Get(key);
  if (known != nullptr && known->freshness.IsFresh(*store_, max_age)) return Current(known);
  const AcceptedAnswers accepted(max_age);
  const OldestAnswer oldest;
  const Query query = Ask(key, max_age, loader);
  for (int attempt = 1;; ++attempt) {
    if (known != nullptr) {
      bool is_unknown = false;
      Answer answer = Revalidate(query, known, is_unknown);
      if (!answer.value || *answer.value != nullptr) return answer;
      if (!is_unknown) known = nullptr;
    }
    bool is_ours = false;  // true if this thread loads the value; false if another does
    const auto load = [&] {
      is_ours = true;
      auto ours = loader.Load();
      // Mark the value as checked here, before other threads that wait for this load get it, so
      // they find it fresh.
      if (ours) (void)Checked(query, ours->value);
      return ours;
    };
    const Result<ValuePtr> loaded = cache_.GetOrLoad(key, load, known);
    if (!loaded) {
      const ErrorCode code = loaded.error().code;
      if (code == ErrorCode::kStale && attempt < kMaxAttempts) continue;
      const bool is_gone = code == ErrorCode::kNotFound && is_ours;
      return {Fail(loaded), is_gone ? query.watched : Validity()};
    }
    if (loader.IsRacy(**loaded)) {
      cache_.Erase(key, *loaded);
      if (attempt == 1 && max_age != kAnyAge && WaitOutRacy(*store_)) {
        known = nullptr;
        continue;
      }
      loader.OnForgotten(*loaded);
    }
    const bool is_fresh = is_ours || (*loaded)->freshness.IsFresh(*store_, max_age);
    if (is_fresh || attempt >= kMaxAttempts) return Current(*loaded);
    known = *loaded;  // another thread began this load earlier, so revalidate
  }
}

template <typename K, typename V, typename H>
template <typename IsIt>
Result<typename RevalidatingCache<K, V, H>::ValuePtr> RevalidatingCache<K, V, H>::GetVersion(
    const K& key, IsIt is_it, const std::function<Result<Loaded>()>& load) {
  if (const ValuePtr known = cache_.Get(key); known != nullptr) {
    if (is_it(*known)) return known;
    cache_.Erase(key, known);
  }
  Result<ValuePtr> shared = cache_.GetOrLoad(key, load);
  if (!shared || is_it(**shared)) return shared;
  // Another thread has loaded a version that `is_it` does not accept.
  return load().map([](const Loaded& own) { return own.value; });
}

}  // namespace zarrfs
