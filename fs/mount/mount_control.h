// Probes and unmounts zarrfs mounts from outside.
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
  kDead,    // its process is gone: "Transport endpoint is not connected"
  kSilent,  // no answer within a second
  kHidden,  // this user has no access
};

struct MountAnswer {
  MountState state = MountState::kSilent;
  std::optional<pid_t> pid;  // of the process that handles its signals
  std::string options;       // the text of .zarrfs/options

  /// The value in the line `name: value` of that text; "" if it is missing.
  [[nodiscard]] std::string Option(std::string_view name) const;
};

/// Probes a zarrfs mount from a child process, because access may block forever. Root probes as the
/// mounting user. The process must not have threads yet.
[[nodiscard]] MountAnswer AskMount(const Mounted& mounted);

/// Unmounts the mount on top at `path`, through fusermount3 unless this process may do it itself;
/// `detach`: lazily. kWouldBlock if it is busy. The process must not have threads.
[[nodiscard]] Result<void> Unmount(const std::string& path, bool detach);

}  // namespace zarrfs
