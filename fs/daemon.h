// The life of a mount: from the checked command line to the exit status.
//
//   caller          forks before there is any thread; waits for the report; exits with its code
//   main thread     opens the store, mounts, then runs libfuse's loop and its threads
//   doorbell        asks the new mount for its root, as any reader will; reports when it answers
//   keeper          waits for signals and for the end of the loop; sees to it that the process ends
//
// Only a mount that answers is reported as mounted, and a start that fails leaves nothing mounted.
// A request that is stuck in the store holds up neither signals nor the end.
#ifndef FS_DAEMON_H_
#define FS_DAEMON_H_

#include "fs/exit_code.h"
#include "fs/options.h"

namespace zarrfs {

/// Mounts and serves. Returns in the process that the user waits for: once the mount answers or
/// cannot be had, after one line on stderr; with `foreground`, that process serves itself and ends
/// without returning. The process must not have threads yet.
int RunDaemon(MountOptions options);

}  // namespace zarrfs

#endif  // FS_DAEMON_H_
