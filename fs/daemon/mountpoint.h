// Whether STORE and MNT are fit for mounting, said before anything is mounted. Every error message
// is one line that says what to do.
#ifndef FS_DAEMON_MOUNTPOINT_H_
#define FS_DAEMON_MOUNTPOINT_H_

#include <optional>
#include <string>

#include "fs/daemon/options.h"
#include "zarrcore/base/mount_table.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// `path` from the root, without "." and empty components. ".." stays: only the kernel knows where
/// it leads.
[[nodiscard]] std::string AbsolutePath(const std::string& path);

/// Where something may be mounted, under the name that the kernel's table has for it. Only the way
/// to it is resolved: the folder itself may be a mount that never answers.
[[nodiscard]] Result<std::string> ResolveParent(const std::string& mountpoint);

struct MountPoint {
  std::string path;             // without symbolic links
  std::optional<Mounted> dead;  // the dead mount of a zarrfs that was killed, on top there
};

/// Checks what a mount needs: the source folder, the mount point, the fuse device, fusermount3, the
/// permission for allow_other. A dead mount stays until the new one takes its place (see
/// fs/dead_mount.h); one that hides the source is cleared, unless the mount would be a fake one.
/// Before there are threads.
[[nodiscard]] Result<MountPoint> CheckMount(const MountOptions& options);

}  // namespace zarrfs

#endif  // FS_DAEMON_MOUNTPOINT_H_
