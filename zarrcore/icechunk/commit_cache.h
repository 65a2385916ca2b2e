// IcechunkCommitCache: a cache of the commits of a repository, by id. Evicts the least recently
// used commits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/head.h"
#include "zarrcore/icechunk/object_id.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Maximum bytes of cached snapshots.
inline constexpr uint64_t kCommitBytes = 64u << 20;

/// Caches commits. Thread-safe.
class IcechunkCommitCache {
 public:
  using HeadPtr = std::shared_ptr<const IcechunkHead>;

  explicit IcechunkCommitCache(std::shared_ptr<const Store> container);

  /// Returns the commit with this id, and the errors of IcechunkHead::ReadSnapshotOf().
  [[nodiscard]] Result<HeadPtr> Get(const IcechunkId& id);

  /// Evicts the one cached snapshot larger than kCommitBytes, if no such snapshot was used since
  /// the last call. Call about once a minute.
  void Sweep() { heads_.SweepLatestLarge(); }

 private:
  static constexpr int64_t kUnknownTime = INT64_MIN;

  const std::shared_ptr<const Store> container_;
  LruCache<IcechunkId, IcechunkHead, IcechunkIdHash> heads_;
  const MemoryBudget::Holder holder_;
  std::atomic<int64_t> first_ns_ = kUnknownTime;
};

}  // namespace zarrfs
