// Dead mounts: their process was killed or crashed. They stay in the mount table, and every path
// below fails with ENOTCONN. If they were unmounted, their chunks would be "No such file" in the
// bare folder below, which Zarr readers take for the fill value.
//
// So the next mount there must not expose the bare folder: it is mounted beneath the dead mount,
// which is then detached (MOVE_MOUNT_BENEATH, Linux 6.5), or over it. Only root can do that:
// fusermount3 refuses to mount on a dead mount.
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
  Descriptor device;         // the FUSE device
  dev_t dead = 0;            // the device number of the dead mount
  bool covers_dead = false;  // the dead mount still exists below
};

/// Mounts in place of `dead`, which is on top at its path. kNotFound: it is gone. kPermissionDenied
/// or kUnsupported: this process or kernel cannot do it, and the dead mount is unchanged. The
/// process must not have threads yet.
[[nodiscard]] Result<Replacement> ReplaceDeadMount(const MountOptions& options,
                                                   const Mounted& dead);

/// Detaches dead zarrfs mounts from the top of the stack at `path`.
[[nodiscard]] Result<void> ClearDeadMounts(const std::string& path);

/// Makes the kernel fail all current and future requests of a connection with ENOTCONN. The mount
/// stays. `number`: the device number of the mount, which is unique while the connection lives;
/// `path`: where it may be. Does not touch other mounts at that path, and sends this one no
/// request.
void AbortConnection(const Descriptor& device, dev_t number, const std::string& path);

/// A number of the mount on top at `path` that is never reused (Linux 6.8); 0 if unavailable. Sends
/// the mount no request.
[[nodiscard]] uint64_t UniqueMountId(const std::string& path);

}  // namespace zarrfs
