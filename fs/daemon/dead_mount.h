// Mounts that nobody serves any more, because the process that did was killed or crashed. They stay
// in the mount table: every path below gives ENOTCONN. Were they unmounted, their chunks would be
// "No such file" in the bare folder below, which Zarr readers take for the fill value.
//
// So the next mount at such a place never lets the bare folder be seen: it goes beneath the dead
// mount, which is then detached (MOVE_MOUNT_BENEATH, Linux 6.5), or over it. Users other than root
// can do neither: fusermount3 refuses to mount on a dead mount.
#ifndef FS_DAEMON_DEAD_MOUNT_H_
#define FS_DAEMON_DEAD_MOUNT_H_

#include <cstdint>
#include <string>

#include "fs/daemon/options.h"
#include "zarrcore/base/descriptor.h"
#include "zarrcore/base/mount_table.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// A mount that has taken the place of a dead one.
struct Replacement {
  Descriptor device;         // the FUSE device
  dev_t dead = 0;            // the device number of what was there
  bool covers_dead = false;  // it is still there, below
};

/// Mounts where `dead` is on top. kNotFound: it is not there any more. kPermissionDenied or
/// kUnsupported: this process or kernel cannot, and the dead mount is as it was. Before there are
/// threads.
[[nodiscard]] Result<Replacement> ReplaceDeadMount(const MountOptions& options,
                                                   const Mounted& dead);

/// Detaches the dead zarrfs mounts on top at `path`, one after the other.
[[nodiscard]] Result<void> ClearDeadMounts(const std::string& path);

/// Makes the kernel answer all requests of a mount with ENOTCONN, now and from now on. The mount
/// stays. `device` and `id` (Mounted) say which one it is, in case another is at `path` by now.
void AbortMount(const std::string& path, dev_t device, uint64_t id);

}  // namespace zarrfs

#endif  // FS_DAEMON_DEAD_MOUNT_H_
