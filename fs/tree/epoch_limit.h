// EpochLimit: bounds the memory of a mount about stored objects (EpochTable).
//
// Above the limit, the least recently used objects are dropped, some at each Sweep(): first the
// names of their files are invalidated, as after a change; the next Sweep() drops the objects,
// except those used since. A file that was open all that time reads from pages in the kernel, else
// ESTALE. For one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fs/tree/nodes.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Objects named by one Sweep(): the kernel can invalidate them in about a second.
inline constexpr uint64_t kForgottenAtOnce = 65'536;

class EpochLimit {
 public:
  explicit EpochLimit(uint64_t bytes) : limit_(bytes) {}

  /// The objects whose names must be invalidated before the next call; none below the limit.
  [[nodiscard]] Changes Sweep(Nodes& nodes);

 private:
  const uint64_t limit_;
  std::vector<std::shared_ptr<EpochTable>> marked_;
};

}  // namespace zarrfs
