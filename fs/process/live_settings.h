// What can change while the store is mounted: the log level and the sizes of caches. The keeper has
// them, and tells its worker.
#pragma once

#include <sys/signalfd.h>

#include <string_view>

#include "fs/options/options.h"
#include "fs/process/workers.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// SIGUSR2 has come: another log level. The log says which, or why not.
void ChangeLogLevel(const signalfd_siginfo& signal, std::string_view mountpoint,
                    const Workers& workers);

/// Reads the configuration file again, as if `words` were given after -o, too (SetLive). The log
/// says what came of it.
[[nodiscard]] Result<void> ReloadSettings(MountOptions& options, std::string_view words,
                                          std::string_view mountpoint, const Workers& workers);

}  // namespace zarrfs
