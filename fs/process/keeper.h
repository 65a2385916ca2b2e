// The keeper: the process that owns a mount from before it is made until after its end.
//
// The keeper mounts, and keeps the privileges to unmount. It starts a worker, which answers the
// kernel but can neither mount nor unmount. If the worker is killed or crashes, the keeper, which
// also holds the connection to the kernel, starts another worker: readers wait, and notice nothing
// else. If more than five workers end within a minute, a caretaker answers with errors
// (fs/fuse/caretaker.h). If the keeper is killed, the mount stays as a dead mount, and each path
// below it gives an error. If it were unmounted, readers would find the bare folder below, where
// every chunk is missing, and Zarr readers would use the fill value.
//
// The keeper has one thread and never accesses the store or the mount, so a store that hangs cannot
// keep it from handling signals. While no worker runs, an access to the mount would hang the keeper
// forever.
//
//   TERM, INT   unmount and end; a mount in use stays until a second signal detaches it
//   USR1        connect to a program that requests an upgrade, other live settings, or the state of
//               the mount (fs/process/upgrade.h)
//   HUP         read the configuration file again, to change the log level, the memory limit and
//               the cache sizes
//   USR2        next log level (info after debug); with a value from sigqueue(3), 1 to 4: error,
//               warning, info, debug
//
// With the option `until`, the keeper also ends when the process that the option names ends. It
// then detaches the mount, even if the mount is in use.
//
// In the foreground the keeper reports its state to the service manager (sd_notify(3)).
//
// The keeper reports success only once the mount answers requests. After a failed start nothing is
// mounted, except a dead mount that existed before.
#pragma once

#include "fs/mount/channel.h"
#include "fs/mount/mountpoint.h"
#include "fs/options/options.h"

namespace zarrfs {

/// Runs the keeper until the mount has ended; returns the exit code. `program` is the program that
/// workers execute; if it is empty, workers are forked copies of this process. `report` leads to
/// the process that waits for the start; it gets one message, kReady or kFailed. In the foreground
/// `report` is closed, and failures are printed to stderr. The process must not have other threads.
int RunKeeper(const MountOptions& options, const MountPoint& mountpoint, Channel report,
              Descriptor program);

}  // namespace zarrfs
