#include "fs/tree/superseded_shards.h"

#include <algorithm>

namespace zarrfs {

void SupersededShards::DropFirst(std::vector<OpenShardPtr>& dropped) {
  const auto [begin, end] = by_object_.equal_range(order_.front().object);
  by_object_.erase(std::find_if(
      begin, end, [first = order_.begin()](const auto& kept) { return kept.second == first; }));
  dropped.push_back(std::move(order_.front().shard));
  order_.pop_front();
}

void SupersededShards::Put(uint64_t source, OuterIndex outer, OpenShardPtr shard,
                           Clock::time_point now) {
  // An object without an open descriptor has no readers: only its attributes were read.
  if (shard == nullptr || shard->object == nullptr || shard->damage) return;
  if (shard->is_in_memory) return;  // too large to be kept for readers that may not exist
  std::vector<OpenShardPtr> dropped;
  const MutexLock lock(mutex_);
  const std::pair object{source, outer};
  const auto [begin, end] = by_object_.equal_range(object);
  for (auto at = begin; at != end; ++at) {
    if (at->second->shard->fingerprint == shard->fingerprint) return;
  }
  order_.push_back({object, std::move(shard), now});
  by_object_.emplace(object, std::prev(order_.end()));
  if (order_.size() > kMaxSuperseded) DropFirst(dropped);
}

OpenShardPtr SupersededShards::Get(uint64_t source, OuterIndex outer, uint64_t fingerprint,
                                   Clock::time_point now) {
  const MutexLock lock(mutex_);
  const auto [begin, end] = by_object_.equal_range(std::pair{source, outer});
  for (auto at = begin; at != end; ++at) {
    if (at->second->shard->fingerprint != fingerprint) continue;
    at->second->read = now;
    order_.splice(order_.end(), order_, at->second);
    return at->second->shard;
  }
  return nullptr;
}

SupersededShards::Clock::time_point SupersededShards::Sweep(Clock::time_point now) {
  std::vector<OpenShardPtr> dropped;
  const MutexLock lock(mutex_);
  while (!order_.empty() && now - order_.front().read >= kGracePeriod) DropFirst(dropped);
  return order_.empty() ? Clock::time_point::max() : order_.front().read + kGracePeriod;
}

void SupersededShards::Evict() {
  std::vector<OpenShardPtr> dropped;
  const MutexLock lock(mutex_);
  while (!order_.empty()) DropFirst(dropped);
}

size_t SupersededShards::size() const {
  const MutexLock lock(mutex_);
  return order_.size();
}

}  // namespace zarrfs
