// Finds the keeper of a mount while the mount does not answer. The keeper holds a socket whose name
// contains the mount's device number and the keeper's process id. Nobody can connect to the socket.
// /proc/net/unix shows its name to everybody in the same network namespace.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Stands in for the device number of a given mount (given_connection.h), which its keeper does not
/// know.
inline constexpr dev_t kGivenMount = 0;

/// Publishes this process as the keeper of `mount` until the returned descriptor is closed. Empty,
/// with errno set, on failure.
[[nodiscard]] Descriptor NameKeeper(dev_t mount);

/// Returns the processes that claim, by the name of a socket, to be the keeper of `mount`.
/// `sockets` is the contents of /proc/net/unix. Any process can use such a name, so the caller must
/// check the processes.
[[nodiscard]] std::vector<pid_t> KeepersIn(std::string_view sockets, dev_t mount);

/// Returns the processes in this network namespace that have claimed to be a keeper of the mount;
/// see KeepersIn().
[[nodiscard]] std::vector<pid_t> NamedKeepers(dev_t mount);

}  // namespace zarrfs
