// The process that owns a mount from before it is made until it is gone.
//
// It mounts, and keeps what is needed to unmount; the worker that it starts answers the kernel and
// can do neither. When the worker is killed or crashes, the mount stays, dead: each path below it
// gives an error then. In the bare folder below it would be "No such file", which Zarr readers take
// for the fill value. It has one thread and never touches the store or the mount, so nothing that
// hangs there keeps it from its signals:
//
//   TERM, INT   unmount and end; a mount in use serves on until the second one, which detaches it
//   HUP         read the configuration file again: log level and sizes of caches change
//   USR2        log more (after debug: info again); with a value from sigqueue(3), 1 to 4: log
//               from error, warning, info, debug on
//
// In the foreground it tells a service manager how things stand (sd_notify(3)).
//
// Only a mount that answers is reported as mounted, and a start that fails leaves nothing mounted,
// but a dead mount where there was one.
#ifndef FS_DAEMON_KEEPER_H_
#define FS_DAEMON_KEEPER_H_

#include "fs/daemon/mountpoint.h"
#include "fs/daemon/options.h"
#include "zarrcore/base/descriptor.h"

namespace zarrfs {

/// Runs until the mount is gone; returns the exit code. `report` is the pipe to the process that
/// waits for the start (fs/daemon/report.h); empty in the foreground, where failures go to stderr.
/// The process must not have threads.
int RunKeeper(const MountOptions& options, const MountPoint& mountpoint, Descriptor report);

}  // namespace zarrfs

#endif  // FS_DAEMON_KEEPER_H_
