// How the keeper of a mount is found while the mount itself does not answer: it holds a socket with
// a name that has the mount's device number and the keeper's process id. Nobody can connect to the
// socket. /proc/net/unix shows its name to everybody in the same network namespace.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Names this process, until the descriptor is closed. Empty, with errno, on failure.
[[nodiscard]] Descriptor NameKeeper(dev_t mount);

/// The processes that some socket names as keepers of the mount, in the text of /proc/net/unix.
/// Anybody may give a socket such a name, so the caller must check them.
[[nodiscard]] std::vector<pid_t> KeepersIn(std::string_view sockets, dev_t mount);

/// The same of this machine.
[[nodiscard]] std::vector<pid_t> NamedKeepers(dev_t mount);

}  // namespace zarrfs
