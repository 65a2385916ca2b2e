// The signals that a keeper handles (fs/process/keeper.h).
#pragma once

#include <sys/signalfd.h>

#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Blocks the keeper's signals and returns a non-blocking signalfd(2) for them. Workers unblock the
/// signals again.
[[nodiscard]] Result<Descriptor> TakeSignals();

/// True if every SIGTERM and SIGINT is a request to unmount. Otherwise, a service manager may also
/// send SIGTERM after the kernel has killed a worker to free memory. With OOMPolicy=continue the
/// service manager does not; such units set ZARRFS_OOM_POLICY=continue in the environment.
[[nodiscard]] bool EndingIsAlwaysAsked();

/// Returns the log level that a SIGUSR2 requests, one of kLogLevels. Fails with kInvalidArgument if
/// the number sent with the signal is not the number of a level.
[[nodiscard]] Result<std::string_view> LevelAskedFor(const signalfd_siginfo& signal);

}  // namespace zarrfs
