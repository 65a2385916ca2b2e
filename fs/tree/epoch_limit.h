// EpochLimit: limits the memory of a mount for the epochs of stored objects (EpochTable).
//
// Above the limit, each Sweep() selects some of the least recently used objects. The caller must
// invalidate the names of their files, as after a change. The next Sweep() drops the epochs of the
// selected objects, except of objects used since then. A file that stays open in the meantime can
// be read only from the page cache; other reads fail with ESTALE. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fs/tree/nodes.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// The maximum number of objects selected by one Sweep(). The kernel can invalidate their names in
/// about a second.
inline constexpr uint64_t kForgottenAtOnce = 65'536;

class EpochLimit {
 public:
  explicit EpochLimit(uint64_t bytes) : limit_(bytes) {}

  /// Drops the epochs of the objects that the last call selected, unless they were used since then,
  /// and selects others. Returns the selected objects, whose names must be invalidated before the
  /// next call; none below the limit.
  [[nodiscard]] Changes Sweep(Nodes& nodes);

 private:
  // Charges the memory of the epochs to the budget of the process.
  void CountMemory(const EpochTable::Usage& usage);

  const uint64_t limit_;
  MemoryBudget::Share memory_;  // the memory that the epochs used at the last Sweep()
  std::vector<std::shared_ptr<EpochTable>> marked_;
};

}  // namespace zarrfs
