// Which system calls a process in a sandbox may make (base/sandbox.h has the rest of it).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

/// From here on, in all threads of this process, a system call that is not in the list of
/// system_calls.cc kills the process (SIGSYS); the kernel's log has its number ("audit: type=1326
/// … syscall="). The process must have one thread, and PR_SET_NO_NEW_PRIVS. Returns why there is no
/// such filter; "" if it is in force. `changes_files`: names may be made, renamed and removed.
/// `sockets`: as in SandboxRules.
[[nodiscard]] std::string RestrictSystemCalls(
    bool io_uring, bool changes_files = false,
    const std::optional<std::vector<int>>& sockets = std::nullopt);

/// Likewise for a process that uses the network. A call that is not in its list fails with EPERM
/// instead of killing: libraries of the machine (libcurl, OpenSSL, modules that find addresses) try
/// calls that they can do without. socket(AF_UNIX) is EACCES, as the resolver expects it of a
/// machine without a cache of names.
[[nodiscard]] std::string RestrictFetcherCalls(bool changes_files);

/// For a process that starts programs which nobody here knows: what only attacks need is EPERM, in
/// these programs, too.
[[nodiscard]] std::string RestrictCallsOfPrograms();

/// "libseccomp 2.5.4", "none: built without libseccomp": what this program was built with.
[[nodiscard]] std::string SystemCallFilterVersion();

}  // namespace zarrfs
