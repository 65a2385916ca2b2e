// EpochLimit: keeps what a mount remembers of stored objects (EpochTable) below a limit.
//
// Above it, the objects that were not seen for longest are forgotten, some at each Sweep(): first
// the names of their files are to be invalidated, as after a change; at the next Sweep() they go,
// but for those that were seen again. A file that was open all that time reads from pages that the
// kernel has, else ESTALE. For one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fs/tree/nodes.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Objects that one Sweep() names: what the kernel can be told of in about a second.
inline constexpr uint64_t kForgottenAtOnce = 65'536;

class EpochLimit {
 public:
  explicit EpochLimit(uint64_t bytes) : limit_(bytes) {}

  /// The objects whose names are to be invalidated before this is called again; none while below
  /// the limit.
  [[nodiscard]] Changes Sweep(Nodes& nodes);

 private:
  const uint64_t limit_;
  std::vector<std::shared_ptr<EpochTable>> marked_;
};

}  // namespace zarrfs
