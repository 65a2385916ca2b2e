// ShardCache: the opened stored objects of one array, in the cache that all arrays share. Detects
// that one has been replaced. Thread-safe; no lock is held while the store is asked.
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
  /// The shard or an error, and how long that holds.
  using Answer = IndexCache::Answer;
  using OnSuperseded = std::function<void(OuterIndex outer, const OpenShardPtr& old)>;

  /// `folder`: key of the array. `layout` and `naming` must outlive this object. `on_superseded`,
  /// `before`: see ChunkSource::Make().
  ShardCache(std::shared_ptr<const Store> store, std::string folder, const ArrayLayout& layout,
             const ObjectNaming& naming, std::shared_ptr<IndexCache> cache,
             OnSuperseded on_superseded, const ShardCache* before = nullptr);

  /// A stored object, opened, with its index.
  [[nodiscard]] Answer Open(OuterIndex outer, Age max_age) const;

  /// Looks up a plain chunk without reading it: its `object` is null unless it is already open.
  [[nodiscard]] Answer Look(OuterIndex outer, Age max_age) const;

  /// The shard at `range` of `parent`, at position `linear` in the grid of its level.
  [[nodiscard]] Result<OpenShardPtr> OpenNested(const OpenShardPtr& parent, uint32_t level,
                                                uint64_t linear, const ChunkRange& range) const;

  /// Evicts everything cached about a stored object: after kStale from a read.
  void Forget(OuterIndex outer) const;

  [[nodiscard]] std::string ObjectKey(OuterIndex outer) const {
    return KeyIn(naming_.current(), outer);
  }

  /// Unique in the process, except that caches made from `before` share its id.
  [[nodiscard]] uint64_t id() const { return id_; }

  /// Wall-clock nanoseconds of the latest known change of an object; 0 for never.
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
