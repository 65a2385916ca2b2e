// The mounts that this process can see. Only the kernel's table is read, so a hung or dead mount
// cannot block the caller.
//
// The order of the table does not show which of several mounts on one folder is on top: the kernel
// sorts the table by mount id, and a mount may be moved over or beneath a younger one. The parent
// ids show which mount is on top, because a mount on top of another mount is a child of that mount.
// libmount 2.38 relies on the order of the table, so libmount is not used.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

/// The type of zarrfs mounts in the mount table.
inline constexpr std::string_view kMountType = "fuse.zarrfs";

/// A line of /proc/self/mountinfo.
struct Mounted {
  uint64_t id = 0;  // the kernel may reuse the id after unmounting
  uint64_t parent = 0;
  std::string path;
  std::string root;     // the folder of the file system that is mounted; "/" except for bind mounts
  std::string options;  // "ro,nosuid,nodev,relatime"
  dev_t device = 0;
  std::string type;                 // "fuse.zarrfs"
  std::string source;               // the device, folder or name that was mounted
  std::string file_system_options;  // "rw,lowerdir=/a:/b"
  uid_t user = 0;                   // for FUSE: the mounting user
  gid_t group = 0;
};

/// The folders that an overlay file system with these options combines.
[[nodiscard]] std::vector<std::string> OverlayLayers(std::string_view file_system_options);

/// Parses the contents of /proc/self/mountinfo. Skips malformed lines.
[[nodiscard]] std::vector<Mounted> ParseMountTable(std::string_view mountinfo);

/// All mounts that this process can see.
[[nodiscard]] std::vector<Mounted> MountTable();

/// True if `path` is `folder` or is below it.
[[nodiscard]] bool LiesIn(std::string_view path, std::string_view folder);

// The paths passed to the functions below must be absolute and without symbolic links. Mounts
// covered by other mounts are not found.

/// The mounts through which a lookup of `path` passes, from the root mount to the mount that
/// contains `path`.
[[nodiscard]] std::vector<Mounted> MountsAlong(std::string_view path,
                                               const std::vector<Mounted>& table);

/// The stack of mounts on exactly the folder `path`, from bottom to top.
[[nodiscard]] std::vector<Mounted> MountsAt(std::string_view path);

/// The topmost mount of MountsAt(path).
[[nodiscard]] std::optional<Mounted> FindMount(std::string_view path);

/// The zarrfs mounts that no other mount covers, sorted by path.
[[nodiscard]] std::vector<Mounted> ZarrfsMounts();

}  // namespace zarrfs
