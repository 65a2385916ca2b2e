#pragma once

namespace zarrfs {

/// Those of mount(8).
enum ExitCode : int {
  kExitDone = 0,
  kExitUsage = 1,
  kExitSystem = 2,
  kExitMountFailed = 32,
};

}  // namespace zarrfs
