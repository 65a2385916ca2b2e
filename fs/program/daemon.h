// A mount, from the checked command line to the exit code, in three processes:
//
//   caller   checks the requirements of a mount, waits for the keeper's report and exits with the
//            code in the report; in the foreground the caller becomes the keeper
//   keeper   mounts, handles signals, unmounts (fs/process/keeper.h)
//   worker   opens the store and answers the kernel (fs/process/worker.h)
#pragma once

#include "fs/options/options.h"

namespace zarrfs {

/// Mounts and serves a store. In the process that the user waits for, returns the exit code once
/// the mount answers requests, or after a failed start, whose error is one line on stderr. With the
/// option `foreground`, returns once the mount has ended. The process must not have threads yet.
int RunDaemon(MountOptions options);

}  // namespace zarrfs
