// Whether SRC and MNT are fit for mounting, said before anything is mounted, and who is mounted at
// MNT afterwards. Every error message is one line that says what to do.
#ifndef FS_MOUNTPOINT_H_
#define FS_MOUNTPOINT_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "fs/options.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// `path` from the root, without "." and empty components. ".." stays: only the kernel knows where
/// it leads.
[[nodiscard]] std::string AbsolutePath(const std::string& path);

/// What the kernel shows as mounted on one folder, from /proc/self/mountinfo.
struct Mounted {
  dev_t device = 0;
  std::string type;    // "fuse.zarrfs"
  std::string source;  // what was mounted
};

/// The topmost mount on exactly the folder `path` (absolute, without symbolic links); nothing if
/// there is none. `mountinfo` is the text of that file.
[[nodiscard]] std::optional<Mounted> FindMount(std::string_view mountinfo, std::string_view path);

/// The same, now. Asks the kernel's table only, so a mount that hangs or is dead does no harm.
[[nodiscard]] std::optional<Mounted> FindMount(const std::string& path);

/// Checks what a mount needs: the source folder, the mount point, the fuse device, fusermount3, the
/// permission for allow_other. Gives the mount point's real path.
[[nodiscard]] Result<std::string> CheckMount(const MountOptions& options);

}  // namespace zarrfs

#endif  // FS_MOUNTPOINT_H_
