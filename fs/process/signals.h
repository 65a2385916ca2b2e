// The signals that a keeper takes (fs/process/keeper.h).
#pragma once

#include <sys/signalfd.h>

#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Blocks them and returns a signalfd(2) for them, which does not wait. Workers unblock them.
[[nodiscard]] Result<Descriptor> TakeSignals();

/// Whether a signal to end is always a request to unmount. A service manager may also send one
/// because the kernel has killed a worker for memory, but not where the unit says
/// OOMPolicy=continue, and ZARRFS_OOM_POLICY=continue in the environment that it does.
[[nodiscard]] bool EndingIsAlwaysAsked();

/// The log level that SIGUSR2 asks for, one of kLogLevels. kInvalidArgument if there is none of the
/// number that came with it.
[[nodiscard]] Result<std::string_view> LevelAskedFor(const signalfd_siginfo& signal);

}  // namespace zarrfs
