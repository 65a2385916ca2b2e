// Whether one stored object of an array is sound: every entry of its indexes and every chunk.
#ifndef TOOLS_ZARRCTL_OBJECT_CHECK_H_
#define TOOLS_ZARRCTL_OBJECT_CHECK_H_

#include <cstdint>

#include "tools/zarrctl/chunk_check.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/verify_report.h"

namespace zarrfs::ctl {

/// What was looked at in one stored object.
struct ObjectCounts {
  uint64_t chunks = 0;
  uint64_t bytes = 0;  // encoded, of chunks that were decoded
};

/// Checks a stored object, by its number in layout().outer_grid, and reports what is wrong with it.
/// Starts again a few times if the object changes meanwhile. Ends early once StopRequested().
[[nodiscard]] ObjectCounts CheckObject(const ChunkCheck& check, OuterIndex outer,
                                       VerifyReport& report, Progress& progress);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_OBJECT_CHECK_H_
