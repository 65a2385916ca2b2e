// Probes and unmounts zarrfs mounts from other processes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {

enum class MountState {
  kAnswers,
  kDead,    // the process of the mount has ended: "Transport endpoint is not connected"
  kSilent,  // the mount did not answer within a second
  kHidden,  // this user has no access to the mount
};

struct MountAnswer {
  MountState state = MountState::kSilent;
  std::optional<pid_t> pid;  // the process that handles the mount's signals; absent if unknown
  std::string options;       // the contents of .zarrfs/options

  /// The value of the line `name: value` in `options`; "" if the line is missing.
  [[nodiscard]] std::string Option(std::string_view name) const;
};

/// Probes a zarrfs mount in a child process, because access may block forever. Root probes as the
/// mounting user. The process must not have threads yet.
[[nodiscard]] MountAnswer AskMount(const Mounted& mounted);

/// Unmounts the topmost mount at `path`, through fusermount3 if this process may not unmount it
/// itself. `detach` unmounts lazily. kWouldBlock if the mount is busy. The process must not have
/// threads.
[[nodiscard]] Result<void> Unmount(const std::string& path, bool detach);

}  // namespace zarrfs
