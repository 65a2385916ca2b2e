// MountFolder: the folder on which a mount is made, held open from the moment it was checked.
//
// A store can take seconds to open. In the meantime, the owner of a parent folder of the mount
// point can replace the mount point by another folder or a symbolic link. So root mounts on the
// descriptor of the checked folder, and unmounts through the descriptor of its parent. A mount
// point that was created for the mount is also removed through its parent's descriptor.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class MountFolder {
 public:
  /// Opens the folder. `path` must be resolved; symbolic links that appeared after that are not
  /// followed. Triggers no automount.
  [[nodiscard]] static Result<MountFolder> Open(const std::string& path);

  /// The folder itself, below any mounts that were made on it later (O_PATH).
  [[nodiscard]] const Descriptor& folder() const { return folder_; }
  /// A path that always leads to the folder, or to the mount on top of it.
  [[nodiscard]] std::string Path() const;
  /// True if the path still leads to the folder. Call only before something is mounted on it.
  [[nodiscard]] bool IsInPlace() const;
  /// The id of the mount at the path; 0 if the path does not exist.
  [[nodiscard]] uint64_t MountIdAtPath() const;
  /// The id of the mount on top of the folder, even if the folder was moved; 0 if nothing is
  /// mounted on it.
  [[nodiscard]] uint64_t MountIdOnTop() const;
  /// Unmounts the mount on top of the folder. False, with errno set, on failure.
  [[nodiscard]] bool Unmount(bool detach) const;
  /// Closes the descriptor of the folder. Call after something was mounted on the folder, because
  /// an automount whose folder is open is never idle.
  void ReleaseFolder() { folder_.reset(); }
  /// Closes the descriptors, in a process that does not use them.
  void Close() {
    parent_.reset();
    folder_.reset();
  }

 private:
  MountFolder(std::string path, std::string name, Descriptor parent)
      : path_(std::move(path)), name_(std::move(name)), parent_(std::move(parent)) {}

  static MountFolder OpenParent(const std::string& path);

  std::string path_;
  std::string name_;        // the last component of the path
  uint64_t own_mount_ = 0;  // the id of the mount that contained the folder when it was opened
  Descriptor parent_;
  Descriptor folder_;
};

/// Opens `path` (O_PATH) without following a symbolic link in any component. Sends no request to a
/// file system mounted there.
[[nodiscard]] Descriptor OpenWithoutLinks(const std::string& path);

/// The id, as in the mount table, of the mount that contains the file of a descriptor; 0 if
/// unknown.
[[nodiscard]] uint64_t MountIdOf(const Descriptor& place);

/// Makes a mount with the FUSE connection `device` and libfuse's mount parameters, but does not
/// attach the mount to a folder. Empty, with errno set, on failure.
[[nodiscard]] Descriptor NewMount(const MountOptions& options, const Descriptor& device);

/// Attaches a mount of NewMount() to `place`; `flags` as for move_mount(2). False, with errno set,
/// on failure.
[[nodiscard]] bool Attach(const Descriptor& mount, const Descriptor& place, unsigned flags);

/// Mounts on `folder` as root, with the FUSE connection `device`. kInvalidArgument if the folder
/// was replaced.
[[nodiscard]] Result<void> MountOn(const MountFolder& folder, const std::string& path,
                                   const MountOptions& options, const Descriptor& device);

}  // namespace zarrfs
