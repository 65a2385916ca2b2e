// How to find the keeper of a mount while the mount does not answer: it holds a socket whose name
// has the mount's device number and the keeper's process id. Nobody can connect to the socket.
// /proc/net/unix shows its name to everybody in the same network namespace.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Publishes this process as keeper until the descriptor is closed. Empty, with errno set, on
/// failure.
[[nodiscard]] Descriptor NameKeeper(dev_t mount);

/// The processes named as keepers of the mount in the text of /proc/net/unix. Anybody may give a
/// socket such a name, so the caller must check them.
[[nodiscard]] std::vector<pid_t> KeepersIn(std::string_view sockets, dev_t mount);

/// The processes named as keepers on this machine.
[[nodiscard]] std::vector<pid_t> NamedKeepers(dev_t mount);

}  // namespace zarrfs
