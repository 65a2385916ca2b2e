#include "fs/options/options.h"

#include <algorithm>
#include <thread>

namespace zarrfs {

bool AllowsOthers(const MountOptions& options) {
  return options.allow_other.value_or(options.user == 0);
}

LinkPolicy LinksInForce(const MountOptions& options) {
  return options.links.value_or(LinkPolicy{
      AllowsOthers(options) ? LinkPolicy::Kind::kInside : LinkPolicy::Kind::kFollow, {}});
}

uint32_t DefaultThreads() { return std::max(16U, 2 * std::thread::hardware_concurrency()); }

}  // namespace zarrfs
