// Settings that can change while the store is mounted: the log level, the memory limit and the
// sizes of caches. The keeper changes its own settings and sends them to its worker.
#pragma once

#include <sys/signalfd.h>

#include <string_view>

#include "fs/options/options.h"
#include "fs/process/workers.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// Changes the log level after SIGUSR2. Logs the new level, or why it is not changed.
void ChangeLogLevel(const signalfd_siginfo& signal, std::string_view mountpoint,
                    const Workers& workers);

/// Reads the configuration file again and applies its live settings, then those in `words`, which
/// are in the syntax of -o; see SetLive(). Logs the result.
[[nodiscard]] Result<void> ReloadSettings(MountOptions& options, std::string_view words,
                                          std::string_view mountpoint, const Workers& workers);

}  // namespace zarrfs
