#include "fs/options/options.h"

#include <algorithm>
#include <thread>

namespace zarrfs {

RemoteOptions FetchOptions(const MountOptions& options) {
  // Answers of the store are reused for half of `ttl`, and names are cached for the other half. An
  // HTTP cache of the option `via` may reuse answers for another half.
  constexpr double kHalfInMs = 500;
  constexpr double kMaxMs = 1e15;
  RemoteOptions remote = options.remote;
  if (options.ttl) {
    remote.cache_window_ms = static_cast<uint64_t>(std::min(*options.ttl * kHalfInMs, kMaxMs));
  }
  if (options.immutable) remote.cache_window_ms = RemoteOptions::kForever;
  return remote;
}

bool AllowsOthers(const MountOptions& options) {
  return options.allow_other.value_or(options.user == 0);
}

LinkPolicy LinksInForce(const MountOptions& options) {
  return options.links.value_or(LinkPolicy{
      AllowsOthers(options) ? LinkPolicy::Kind::kInside : LinkPolicy::Kind::kFollow, {}});
}

uint32_t DefaultThreads() { return std::max(16U, 2 * std::thread::hardware_concurrency()); }

}  // namespace zarrfs
