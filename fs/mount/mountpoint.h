// Checks the arguments STORE and MNT before anything is mounted. Every error message is one line
// that tells the user what to do.
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

/// Makes `path` absolute, without "." and empty components. Keeps "..", which only the kernel can
/// resolve.
[[nodiscard]] std::string AbsolutePath(const std::string& path);

/// Returns the path of `mountpoint` as in the kernel's mount table. Resolves only its parent,
/// because the folder itself may be a mount that never answers.
[[nodiscard]] Result<std::string> ResolveParent(const std::string& mountpoint);

struct MountPoint {
  std::string path;                          // without symbolic links
  std::optional<Mounted> dead;               // a dead zarrfs mount that is on top at the path
  std::shared_ptr<MountFolder> folder = {};  // set if root mounts and replaces no dead mount
  std::shared_ptr<Descriptor> given = {};    // a connection that another program mounted
};

/// Checks the requirements of a mount: the source folder, the mount point, the fuse device,
/// fusermount3, and the permission for allow_other. A dead mount stays until the new mount replaces
/// it (fs/mount/dead_mount.h). A dead mount that hides the source is detached before the check,
/// except for a fake mount. If another program made the mount (given_connection.h), only the
/// descriptor and the source are checked. The process must not have threads yet.
[[nodiscard]] Result<MountPoint> CheckMount(const MountOptions& options);

/// A folder that was created for a mount. The destructor removes the folder, unless something is
/// still mounted on it. The removal uses a descriptor of the parent, so nobody can redirect it to
/// another folder.
class MadeMountPoint {
 public:
  /// Creates the folder; does nothing if the path exists.
  [[nodiscard]] static MadeMountPoint Make(const std::string& path);
  MadeMountPoint() = default;
  MadeMountPoint(MadeMountPoint&&) = default;
  MadeMountPoint& operator=(MadeMountPoint&&) = default;
  ~MadeMountPoint() { Remove(); }

  [[nodiscard]] bool is_made() const { return static_cast<bool>(parent_); }
  /// Removes the folder, at most once.
  void Remove();
  /// Keeps the folder when this object is destroyed.
  void Leave() { parent_.reset(); }

 private:
  std::string path_;
  Descriptor parent_;
};

}  // namespace zarrfs
