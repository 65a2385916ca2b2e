// A mount, from the checked command line to the exit status, in three processes:
//
//   caller   checks what a mount needs, waits for the report and exits with its code. In the
//            foreground it becomes the keeper
//   keeper   mounts, handles signals, unmounts (fs/process/keeper.h)
//   worker   opens the store and answers the kernel (fs/process/worker.h)
#pragma once

#include "fs/options/options.h"

namespace zarrfs {

/// Mounts and serves. Returns the exit code in the process that the user waits for: when the mount
/// answers, or when it has failed with one line on stderr; with `foreground`, when the mount has
/// ended. The process must not have threads yet.
int RunDaemon(MountOptions options);

}  // namespace zarrfs
