// A mount, from the checked command line to the exit status, in three processes:
//
//   caller   checks what a mount needs; waits for the report; exits with its code. In the
//            foreground there is none: it becomes the keeper
//   keeper   mounts, takes signals, unmounts (fs/keeper.h)
//   worker   opens the store and answers the kernel (fs/worker.h)
#ifndef FS_DAEMON_DAEMON_H_
#define FS_DAEMON_DAEMON_H_

#include "fs/daemon/options.h"

namespace zarrfs {

/// Mounts and serves. Returns in the process that the user waits for: once the mount answers or
/// cannot be had, after one line on stderr; with `foreground`, at the end of the mount. The process
/// must not have threads yet.
int RunDaemon(MountOptions options);

}  // namespace zarrfs

#endif  // FS_DAEMON_DAEMON_H_
