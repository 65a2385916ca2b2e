// Checks STORE and MNT before anything is mounted. Every error message is one line with advice.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fs/mount/mount_folder.h"
#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {

/// `path` made absolute, without "." and empty components. Keeps "..", which only the kernel can
/// resolve.
[[nodiscard]] std::string AbsolutePath(const std::string& path);

/// The path of `mountpoint` as in the kernel's mount table. Resolves only its parent: the folder
/// itself may be a mount that never answers.
[[nodiscard]] Result<std::string> ResolveParent(const std::string& mountpoint);

struct MountPoint {
  std::string path;                          // without symbolic links
  std::optional<Mounted> dead;               // a dead zarrfs mount on top there
  std::shared_ptr<MountFolder> folder = {};  // for mounts by root, unless there is a dead one
};

/// Checks what a mount needs: the source folder, the mount point, the fuse device, fusermount3, the
/// permission for allow_other. A dead mount stays until the new one replaces it
/// (fs/mount/dead_mount.h); one that hides the source is cleared, except for a fake mount. The
/// process must not have threads yet.
[[nodiscard]] Result<MountPoint> CheckMount(const MountOptions& options);

/// A folder that is created for a mount, and removed by the destructor, unless something is still
/// mounted there. It is removed through a descriptor of its parent, so that nobody can replace it.
class MadeMountPoint {
 public:
  /// Makes nothing if the path exists.
  [[nodiscard]] static MadeMountPoint Make(const std::string& path);
  /// The folder that was created for a mount of an earlier program; `path` without symbolic links.
  [[nodiscard]] static MadeMountPoint Take(const std::string& path);
  MadeMountPoint() = default;
  MadeMountPoint(MadeMountPoint&&) = default;
  MadeMountPoint& operator=(MadeMountPoint&&) = default;
  ~MadeMountPoint() { Remove(); }

  [[nodiscard]] bool is_made() const { return static_cast<bool>(parent_); }
  /// Removes it, once.
  void Remove();
  /// Keeps it.
  void Leave() { parent_.reset(); }

 private:
  std::string path_;
  Descriptor parent_;
};

}  // namespace zarrfs
