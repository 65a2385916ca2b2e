// The process that owns a mount from before it is made until it is gone.
//
// It mounts, and keeps the privileges to unmount; the worker that it starts serves the kernel and
// can do neither. If the worker is killed or crashes, the keeper, which holds the connection to the
// kernel as well, starts another one: readers wait, and notice nothing else. After more than five
// ends in a minute a caretaker answers (fs/fuse/caretaker.h), with errors. If the keeper is killed,
// the mount stays, dead, and each path below it gives an error. (In the bare folder below it would
// be "No such file", which Zarr readers take for the fill value.)
//
// The keeper has one thread and never accesses the store or the mount, so nothing that hangs there
// keeps it from handling signals. (While there is no worker, an access to the mount would hang it
// for ever, and with it the connection that it holds.)
//
//
//   TERM, INT   unmount and end; a mount in use goes on until the second signal, which detaches it
//   USR1        becomes a newer program (fs/process/upgrade.h)
//   HUP         read the configuration file again: changes the log level and the sizes of caches
//   USR2        next log level (info after debug); with a value from sigqueue(3), 1 to 4: error,
//               warning, info, debug
//
// With the option until it also ends when another process does: the mount is detached, in use or
// not.
//
// In the foreground it reports its state to the service manager (sd_notify(3)).
//
// It reports success only once the mount answers. A failed start leaves nothing mounted, except a
// dead mount that was there before.
#pragma once

#include "fs/mount/channel.h"
#include "fs/mount/hand_over.h"
#include "fs/mount/mountpoint.h"
#include "fs/options/options.h"

namespace zarrfs {

/// Runs until the mount is gone; returns the exit code. `program`: what workers run; without it
/// they are forked alone. `report` leads to the process that waits for the start: one message,
/// kReady or kFailed; closed in the foreground, where failures go to stderr. The process must not
/// have threads.
int RunKeeper(const MountOptions& options, const MountPoint& mountpoint, Channel report,
              Descriptor program);

/// Likewise, in the program that takes over from an older one, in the same process. `state` was
/// checked; `options` are OptionsOf() it.
int ResumeKeeper(const MountOptions& options, const HandOver& state, Descriptor program);

}  // namespace zarrfs
