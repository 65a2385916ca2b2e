// ShardCache: opens the stored objects of one array, caches the open objects in the cache that all
// arrays share, and detects replaced objects. Thread-safe. No lock is held during requests to the
// store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "zarrcore/array/layout.h"
#include "zarrcore/array/object_naming.h"
#include "zarrcore/array/open_shard.h"
#include "zarrcore/array/shard_reader.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class ShardCache {
 public:
  /// An open shard or an error, and the validity of this answer.
  using Answer = IndexCache::Answer;
  using OnSuperseded = std::function<void(OuterIndex outer, const OpenShardPtr& old)>;

  /// `folder`: the key of the array. `layout` and `naming` must outlive this object. For
  /// `on_superseded` and `before` see ChunkSource::Make().
  ShardCache(std::shared_ptr<const Store> store, std::string folder, const ArrayLayout& layout,
             const ObjectNaming& naming, std::shared_ptr<IndexCache> cache,
             OnSuperseded on_superseded, const ShardCache* before = nullptr);

  /// Opens a stored object, and reads its index if the object is a shard.
  [[nodiscard]] Answer Open(OuterIndex outer, Age max_age) const;

  /// Looks up an unsharded chunk. Opens the object only if the store changes in steps
  /// (Store::ChangesInSteps()). Otherwise, the result is only stat'ed, with a null `object`, unless
  /// the open object is cached.
  [[nodiscard]] Answer Look(OuterIndex outer, Age max_age) const;

  /// Opens a stored object as it was in an earlier state of the store (see Store::ReadAsOf()). The
  /// result is not cached.
  [[nodiscard]] Result<OpenShardPtr> OpenAsOf(OuterIndex outer, uint32_t step) const;

  /// Opens the nested shard at `range` of `parent`. `linear` is the shard's position in the grid of
  /// its level.
  [[nodiscard]] Result<OpenShardPtr> OpenNested(const OpenShardPtr& parent, uint32_t level,
                                                uint64_t linear, const ChunkRange& range) const;

  /// Evicts a stored object from the cache, and calls SetChanged(). Call after a read has failed
  /// with kStale.
  void Forget(OuterIndex outer) const;

  [[nodiscard]] std::string ObjectKey(OuterIndex outer) const {
    return KeyIn(naming_.current(), outer);
  }

  /// Identifies this cache. The number is unique in the process, except that a cache shares the id
  /// of the cache that was passed to its constructor as `before`.
  [[nodiscard]] uint64_t id() const { return id_; }

  /// Wall-clock time of the latest known change to an object of the array, in nanoseconds; 0 if no
  /// change is known.
  [[nodiscard]] int64_t changed_ns() const { return changed_ns_.load(std::memory_order_relaxed); }
  void SetChanged() const;

 private:
  class OuterLoader;

  [[nodiscard]] std::string KeyIn(const ChunkNaming& form, OuterIndex outer) const;
  [[nodiscard]] ShardKey KeyOf(OuterIndex outer) const { return {id_, ToNumber(outer), 0}; }

  const std::shared_ptr<const Store> store_;
  const std::string folder_;
  const ArrayLayout& layout_;
  const ObjectNaming& naming_;
  const ShardReader reader_;
  const std::shared_ptr<IndexCache> cache_;
  const OnSuperseded on_superseded_;
  const uint64_t id_;
  mutable std::atomic<int64_t> changed_ns_ = 0;
};

}  // namespace zarrfs
