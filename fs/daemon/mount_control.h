// What can be done to a mount of zarrfs from outside: ask whether anybody answers there, and end
// it.
#ifndef FS_DAEMON_MOUNT_CONTROL_H_
#define FS_DAEMON_MOUNT_CONTROL_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/mount_table.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

enum class MountState {
  kAnswers,
  kDead,    // nobody serves it any more: "Transport endpoint is not connected"
  kSilent,  // no answer within a second
  kHidden,  // it is not for this user to ask
};

struct MountAnswer {
  MountState state = MountState::kHidden;
  std::optional<pid_t> pid;  // of the process that takes signals for it
  std::string options;       // the text of .zarrfs/options

  /// The value in the line `name: value` of that text; "" if there is none.
  [[nodiscard]] std::string Option(std::string_view name) const;
};

/// Asks a zarrfs mount, from a child process: asking may take for ever. Root asks in the name of
/// who mounted. Before there are threads.
[[nodiscard]] MountAnswer AskMount(const Mounted& mounted);

/// Unmounts what is on top at `path`, through fusermount3 where this process may not itself;
/// `detach`: lazily. kWouldBlock if it is busy.
[[nodiscard]] Result<void> Unmount(const std::string& path, bool detach);

}  // namespace zarrfs

#endif  // FS_DAEMON_MOUNT_CONTROL_H_
