// Dead mounts: mounts whose process was killed or has crashed. They stay in the mount table, and
// every path below them fails with ENOTCONN. If a dead mount were removed, reading a chunk in the
// bare folder would fail with ENOENT, and Zarr readers would use the fill value.
//
// So the next mount at that path must never expose the bare folder. The new mount is attached
// beneath the dead mount (MOVE_MOUNT_BENEATH, Linux 6.5), which is then detached, or on top of the
// dead mount. Only root can do either: fusermount3 refuses to mount on a dead mount.
#pragma once

#include <cstdint>
#include <string>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {

/// A mount that has replaced a dead one.
struct Replacement {
  Descriptor device;         // the FUSE device of the new mount
  dev_t dead = 0;            // the device number of the dead mount
  bool covers_dead = false;  // the dead mount still exists below the new mount
};

/// Makes a mount in place of `dead`, which is on top at its path. Errors: kNotFound if the dead
/// mount no longer exists; kPermissionDenied or kUnsupported if this process or kernel cannot
/// replace it, which leaves the dead mount unchanged. The process must not have threads yet.
[[nodiscard]] Result<Replacement> ReplaceDeadMount(const MountOptions& options,
                                                   const Mounted& dead);

/// Detaches the topmost mount at `path`, repeatedly, while it is a dead zarrfs mount.
[[nodiscard]] Result<void> ClearDeadMounts(const std::string& path);

/// Makes the kernel fail all current and future requests of a connection with ENOTCONN. The mount
/// stays. `number` is the device number of the mount, which is unique while the connection exists;
/// `path` is where the mount is expected. Does not affect other mounts at that path, and sends no
/// request to the mount.
void AbortConnection(const Descriptor& device, dev_t number, const std::string& path);

/// Returns a number for the topmost mount at `path` that the kernel never reuses (Linux 6.8); 0 if
/// unavailable. Sends no request to the mount.
[[nodiscard]] uint64_t UniqueMountId(const std::string& path);

}  // namespace zarrfs
