#include "zarrcore/icechunk/commit_cache.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

// The minimum size in bytes that the cache assumes for a snapshot. It limits the number of cached
// snapshots.
constexpr uint64_t kMinCharge = 64u << 10;

}  // namespace

IcechunkCommitCache::IcechunkCommitCache(std::shared_ptr<const Store> container)
    : container_(std::move(container)),
      heads_(kCommitBytes, /*splits=*/1),
      holder_(ProcessMemory(), [this](uint64_t missing) { heads_.Evict(missing); }) {
  heads_.KeepLatestLarge();
}

Result<IcechunkCommitCache::HeadPtr> IcechunkCommitCache::Get(const IcechunkId& id) {
  const auto load = [&]() -> Result<decltype(heads_)::Loaded> {
    IcechunkHead known;
    known.first_ns = first_ns_;
    const bool is_time_known = known.first_ns != kUnknownTime;
    auto head =
        IcechunkHead::ReadSnapshotOf(*container_, {id, "", {}}, is_time_known ? &known : nullptr);
    if (!head) return Fail(head);
    first_ns_ = (*head)->first_ns;
    const uint64_t bytes = std::max((*head)->snapshot->bytes_in_memory(), kMinCharge);
    return decltype(heads_)::Loaded{*std::move(head), static_cast<size_t>(bytes)};
  };
  return heads_.GetOrLoad(id, load);
}

}  // namespace zarrfs
