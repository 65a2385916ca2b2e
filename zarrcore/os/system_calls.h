// Restricts the system calls of a sandboxed process. os/sandbox.h restricts files, ports and
// signals.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

/// Restricts this process to the system calls listed in system_calls.cc. Nearly every other call
/// kills the process (SIGSYS), and the kernel logs its number ("audit: type=1326 … syscall="). The
/// process must have one thread and PR_SET_NO_NEW_PRIVS. Returns "", or the reason why the filter
/// is not in force. `changes_files`: files may be created, renamed and removed. `sockets`: see
/// SandboxRules.
[[nodiscard]] std::string RestrictSystemCalls(
    bool io_uring, bool changes_files = false,
    const std::optional<std::vector<int>>& sockets = std::nullopt);

/// Restricts the system calls of a process that uses the network. Other calls fail with EPERM
/// instead of killing the process, because system libraries (libcurl, OpenSSL, resolver modules)
/// try calls that they do not require. socket(AF_UNIX) fails with EACCES, which the resolver
/// expects on a machine without a name cache. Returns like RestrictSystemCalls().
[[nodiscard]] std::string RestrictFetcherCalls(bool changes_files);

/// Restricts a process that starts programs of third parties. Calls that only attacks need fail
/// with EPERM, also in these programs. Returns like RestrictSystemCalls().
[[nodiscard]] std::string RestrictCallsOfPrograms();

/// The filter library of this build: "libseccomp 2.5.4", or "none: built without libseccomp".
[[nodiscard]] std::string SystemCallFilterVersion();

}  // namespace zarrfs
