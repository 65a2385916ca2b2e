#pragma once

namespace zarrfs {

/// The exit codes of zarrfs, as in mount(8).
enum ExitCode : int {
  kExitDone = 0,
  kExitUsage = 1,
  kExitSystem = 2,
  kExitMountFailed = 32,
};

}  // namespace zarrfs
