// The mounts of this machine, as the kernel's table has them. Only the table is asked, so a mount
// that hangs or is dead does no harm.
#ifndef ZARRCORE_BASE_MOUNT_TABLE_H_
#define ZARRCORE_BASE_MOUNT_TABLE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

/// The type of zarrfs mounts in the table.
inline constexpr std::string_view kMountType = "fuse.zarrfs";

/// A line of /proc/self/mountinfo.
struct Mounted {
  std::string path;
  std::string root;     // the folder of the file system that is seen there: "/" unless bound
  std::string options;  // "ro,nosuid,nodev,relatime"
  dev_t device = 0;
  std::string type;    // "fuse.zarrfs"
  std::string source;  // what was mounted
  uid_t user = 0;      // who mounted, of a FUSE file system
  gid_t group = 0;
};

/// The text of that file: oldest first. Lines that make no sense are left out.
[[nodiscard]] std::vector<Mounted> ParseMountTable(std::string_view mountinfo);

/// The mounts that this process can see, oldest first.
[[nodiscard]] std::vector<Mounted> MountTable();

/// The topmost mount on exactly the folder `path` (absolute, without symbolic links); nothing if
/// there is none.
[[nodiscard]] std::optional<Mounted> FindMount(std::string_view path);

/// The mount of `table` that `path` (likewise) lies in: the deepest, and of those on one folder the
/// last.
[[nodiscard]] std::optional<Mounted> FindMountAround(std::string_view path,
                                                     const std::vector<Mounted>& table);

/// The zarrfs mounts that no other mount lies over, by path.
[[nodiscard]] std::vector<Mounted> ZarrfsMounts();

}  // namespace zarrfs

#endif  // ZARRCORE_BASE_MOUNT_TABLE_H_
