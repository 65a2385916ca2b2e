// Checks STORE and MNT before anything is mounted. Every error message is one line that says what
// to do.
#pragma once

#include <optional>
#include <string>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {

/// `path` made absolute, without "." and empty components. Keeps "..": only the kernel knows where
/// that leads.
[[nodiscard]] std::string AbsolutePath(const std::string& path);

/// The path of `mountpoint` as in the kernel's mount table. Resolves only the folders above it: the
/// folder itself may be a mount that never answers.
[[nodiscard]] Result<std::string> ResolveParent(const std::string& mountpoint);

struct MountPoint {
  std::string path;             // without symbolic links
  std::optional<Mounted> dead;  // a dead zarrfs mount on top there
};

/// Checks what a mount needs: the source folder, the mount point, the fuse device, fusermount3, the
/// permission for allow_other. A dead mount stays until the new one replaces it
/// (fs/mount/dead_mount.h); one that hides the source is cleared, except for a fake mount. The
/// process must not have threads yet.
[[nodiscard]] Result<MountPoint> CheckMount(const MountOptions& options);

/// Removes a mount point that was made for a mount. A mount that is still there keeps it, and it
/// may be gone already.
void RemoveMountPoint(const std::string& path);

}  // namespace zarrfs
