// MountFolder: the folder that a mount is made on, held open from the moment it was checked.
//
// A store can take seconds to open, and the owner of a folder above the mount point can put another
// folder or a symbolic link in its place in the meantime. So root mounts on the descriptor of the
// checked folder, unmounts through the descriptor of its parent, and also removes a mount point
// that was created for the mount through that.
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
  /// `path`: resolved earlier; symbolic links that appeared since are not followed. Triggers no
  /// automount.
  [[nodiscard]] static Result<MountFolder> Open(const std::string& path);
  /// Opens the folder below an existing mount: folder() is empty, since a descriptor of the mount
  /// itself would keep it busy.
  [[nodiscard]] static Result<MountFolder> OpenBelowMount(const std::string& path);

  /// The folder below later mounts on it (O_PATH).
  [[nodiscard]] const Descriptor& folder() const { return folder_; }
  /// A path that always leads to this folder, or to the mount on it.
  [[nodiscard]] std::string Path() const;
  /// Whether the path by which it was opened still leads to it; only before a mount on it.
  [[nodiscard]] bool IsInPlace() const;
  /// The number of the mount at the path; 0 if the path leads nowhere.
  [[nodiscard]] uint64_t MountIdAtPath() const;
  /// The number of the mount on top of the folder, even if it was moved; 0 if there is none.
  [[nodiscard]] uint64_t MountIdOnTop() const;
  /// Unmounts the top one. False, with errno set, on failure.
  [[nodiscard]] bool Unmount(bool detach) const;
  /// Call once something is mounted on it: an automount whose folder is held is never idle.
  void ReleaseFolder() { folder_.reset(); }
  /// For a process that does not need it.
  void Close() {
    parent_.reset();
    folder_.reset();
  }

 private:
  MountFolder(std::string path, std::string name, Descriptor parent)
      : path_(std::move(path)), name_(std::move(name)), parent_(std::move(parent)) {}

  static MountFolder OpenParent(const std::string& path);

  std::string path_;
  std::string name_;        // its last component
  uint64_t own_mount_ = 0;  // the number of the mount that contains the folder, when it was opened
  Descriptor parent_;
  Descriptor folder_;
};

/// Opens `path` (O_PATH) without following a symbolic link in any component. Sends no request to a
/// file system mounted there.
[[nodiscard]] Descriptor OpenWithoutLinks(const std::string& path);

/// The number of the mount that contains the descriptor, as in the mount table; 0 if unknown.
[[nodiscard]] uint64_t MountIdOf(const Descriptor& place);

/// A mount as libfuse makes it, but not yet attached, with the FUSE connection `device`. Empty,
/// with errno set, on failure.
[[nodiscard]] Descriptor NewMount(const MountOptions& options, const Descriptor& device);

/// Attaches such a mount; `flags` as for move_mount(2). False, with errno set, on failure.
[[nodiscard]] bool Attach(const Descriptor& mount, const Descriptor& place, unsigned flags);

/// Mounts on `folder` as root, with the FUSE connection `device`. kInvalidArgument if the folder
/// was replaced.
[[nodiscard]] Result<void> MountOn(const MountFolder& folder, const std::string& path,
                                   const MountOptions& options, const Descriptor& device);

}  // namespace zarrfs
