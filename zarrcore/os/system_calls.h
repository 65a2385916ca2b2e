// Which system calls a process in a sandbox may make (os/sandbox.h has the rest of the sandbox).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

/// From here on, in all threads of this process, a system call that is not in the list of
/// system_calls.cc kills the process (SIGSYS); the kernel logs its number ("audit: type=1326 …
/// syscall="). The process must have one thread, and PR_SET_NO_NEW_PRIVS. Returns why the filter is
/// not in force, or "". `changes_files`: names may be created, renamed and removed. `sockets`: as
/// in SandboxRules.
[[nodiscard]] std::string RestrictSystemCalls(
    bool io_uring, bool changes_files = false,
    const std::optional<std::vector<int>>& sockets = std::nullopt);

/// Likewise for a process that uses the network. A call that is not in its list fails with EPERM
/// instead of killing the process: system libraries (libcurl, OpenSSL, resolver modules) try calls
/// that they can do without. socket(AF_UNIX) fails with EACCES, which the resolver expects on a
/// machine without a name cache.
[[nodiscard]] std::string RestrictFetcherCalls(bool changes_files);

/// For a process that starts unknown programs: calls that only attacks need fail with EPERM, also
/// in these programs.
[[nodiscard]] std::string RestrictCallsOfPrograms();

/// The filter library of this build: "libseccomp 2.5.4", or "none: built without libseccomp".
[[nodiscard]] std::string SystemCallFilterVersion();

}  // namespace zarrfs
