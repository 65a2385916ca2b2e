// The mounts that this process can see, read from the kernel's table alone, so a hung or dead mount
// does no harm.
//
// The order of the table does not show which of several mounts on one folder is on top: the kernel
// sorts it by mount id, and a mount may be moved over (or beneath) a younger one. Parents do: a
// mount on top of another is its child. (libmount 2.38 relies on the order.)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

/// The type of zarrfs mounts in the table.
inline constexpr std::string_view kMountType = "fuse.zarrfs";

/// A line of /proc/self/mountinfo.
struct Mounted {
  uint64_t id = 0;  // the kernel reuses it once the mount is gone
  uint64_t parent = 0;
  std::string path;
  std::string root;     // the folder of the file system that is seen there: "/" unless bound
  std::string options;  // "ro,nosuid,nodev,relatime"
  dev_t device = 0;
  std::string type;                 // "fuse.zarrfs"
  std::string source;               // what was mounted
  std::string file_system_options;  // "rw,lowerdir=/a:/b"
  uid_t user = 0;                   // for FUSE: the user who mounted
  gid_t group = 0;
};

/// The folders that an overlay with these options combines.
[[nodiscard]] std::vector<std::string> OverlayLayers(std::string_view file_system_options);

/// Parses the text of that file. Skips lines that it does not understand.
[[nodiscard]] std::vector<Mounted> ParseMountTable(std::string_view mountinfo);

/// All mounts that this process can see.
[[nodiscard]] std::vector<Mounted> MountTable();

/// Whether `path` is `folder` or lies below it.
[[nodiscard]] bool LiesIn(std::string_view path, std::string_view folder);

// Paths are absolute and without symbolic links. Mounts that others cover are not found.

/// The mounts that a lookup of `path` passes through, from the root down; `path` lies in the last
/// one.
[[nodiscard]] std::vector<Mounted> MountsAlong(std::string_view path,
                                               const std::vector<Mounted>& table);

/// The stack of mounts on exactly the folder `path`, bottom to top.
[[nodiscard]] std::vector<Mounted> MountsAt(std::string_view path);

/// The topmost of MountsAt(path).
[[nodiscard]] std::optional<Mounted> FindMount(std::string_view path);

/// The zarrfs mounts that no other mount covers, sorted by path.
[[nodiscard]] std::vector<Mounted> ZarrfsMounts();

}  // namespace zarrfs
