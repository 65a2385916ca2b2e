// MountFolder: the folder that a mount is made on, held open from the moment it was checked.
//
// A store can take seconds to open, and whoever owns a folder above the mount point can put another
// folder or a symbolic link in its place in the meantime. So root mounts on the descriptor of what
// was checked, unmounts by way of the descriptor of the folder above, and removes a mount point
// that was made for the mount likewise.
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
  /// `path`: without symbolic links; not followed if there are any by now. Triggers no automount.
  [[nodiscard]] static Result<MountFolder> Open(const std::string& path);
  /// The same below a mount that is there already: folder() is empty, since a descriptor of the
  /// mount itself would keep it busy.
  [[nodiscard]] static Result<MountFolder> OpenBelowMount(const std::string& path);

  /// The folder below whatever is mounted on it later (O_PATH).
  [[nodiscard]] const Descriptor& folder() const { return folder_; }
  /// A path that leads to it and to nothing else, or to what is mounted on it.
  [[nodiscard]] std::string Path() const;
  /// Whether the path that it was opened by leads to it still, before anything is mounted on it.
  [[nodiscard]] bool IsInPlace() const;
  /// The number of the mount that the path leads to; 0 if it leads nowhere.
  [[nodiscard]] uint64_t MountIdAtPath() const;
  /// That of the mount on top of the folder, wherever that is by now; 0 if nothing is mounted on
  /// it.
  [[nodiscard]] uint64_t MountIdOnTop() const;
  /// Unmounts what is on top. False, with errno set, on failure.
  [[nodiscard]] bool Unmount(bool detach) const;
  /// Once something is mounted on it: an automount whose folder is held is never idle.
  void ReleaseFolder() { folder_.reset(); }
  /// In a process that does not need it.
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
  uint64_t own_mount_ = 0;  // the number of the mount that the folder is in, once it was opened
  Descriptor parent_;
  Descriptor folder_;
};

/// Opens `path` as it is (O_PATH), following no symbolic link in any component. Sends no request to
/// a file system that is mounted there.
[[nodiscard]] Descriptor OpenWithoutLinks(const std::string& path);

/// The number of the mount that the descriptor is in, as in the mount table; 0 if it is not known.
[[nodiscard]] uint64_t MountIdOf(const Descriptor& place);

/// A mount as libfuse makes it, but not attached anywhere yet, with the FUSE connection `device`.
/// Empty, with errno set, on failure.
[[nodiscard]] Descriptor NewMount(const MountOptions& options, const Descriptor& device);

/// Attaches such a mount; `flags` as for move_mount(2). False, with errno set, on failure.
[[nodiscard]] bool Attach(const Descriptor& mount, const Descriptor& place, unsigned flags);

/// Mounts on `folder` by root, with the FUSE connection `device`. kInvalidArgument if something
/// else was put in the folder's place.
[[nodiscard]] Result<void> MountOn(const MountFolder& folder, const std::string& path,
                                   const MountOptions& options, const Descriptor& device);

}  // namespace zarrfs
