// The mounts of this machine, as the kernel's table has them, and what can be done to one from
// outside: ask whether anybody answers there, and end it.
#ifndef FS_MOUNT_TABLE_H_
#define FS_MOUNT_TABLE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// The type of our mounts in the table.
inline constexpr std::string_view kMountType = "fuse.zarrfs";

/// A line of /proc/self/mountinfo.
struct Mounted {
  std::string path;
  dev_t device = 0;
  std::string type;    // "fuse.zarrfs"
  std::string source;  // what was mounted
  uid_t user = 0;      // who mounted, of a FUSE file system
  gid_t group = 0;
};

/// The text of that file: oldest first. Lines that make no sense are left out.
[[nodiscard]] std::vector<Mounted> ParseMountTable(std::string_view mountinfo);

/// The topmost mount on exactly the folder `path` (absolute, without symbolic links); nothing if
/// there is none. Asks the kernel's table only, so a mount that hangs or is dead does no harm.
[[nodiscard]] std::optional<Mounted> FindMount(std::string_view path);

/// The zarrfs mounts that no other mount lies over, by path.
[[nodiscard]] std::vector<Mounted> ZarrfsMounts();

enum class MountState {
  kAnswers,
  kDead,    // nobody serves it any more: "Transport endpoint is not connected"
  kSilent,  // no answer within a second
  kHidden,  // it is not for this user to ask
};

struct MountAnswer {
  MountState state = MountState::kHidden;
  std::optional<pid_t> pid;  // of the process that takes signals for it
};

/// Asks a zarrfs mount, from a child process: asking may take for ever. Root asks in the name of
/// who mounted. Before there are threads.
[[nodiscard]] MountAnswer AskMount(const Mounted& mounted);

/// Unmounts what is on top at `path`, through fusermount3 where this process may not itself;
/// `detach`: lazily. kWouldBlock if it is busy.
[[nodiscard]] Result<void> Unmount(const std::string& path, bool detach);

}  // namespace zarrfs

#endif  // FS_MOUNT_TABLE_H_
