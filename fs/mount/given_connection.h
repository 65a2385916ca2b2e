// A FUSE connection that another program mounted and passed to zarrfs as an open descriptor, with
// the mount point /dev/fd/N.
//
// A pod without permission to mount gets the descriptor from a driver that has it. The pod does not
// see the mount, so zarrfs neither accesses nor unmounts it. zarrfs serves the connection until it
// is told to stop or the driver unmounts. The driver decides the mount's flags.
#pragma once

#include <optional>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The number N of a mount point "/dev/fd/N" if that descriptor of this process is a FUSE device.
/// Checks only the descriptor, and accesses no path.
[[nodiscard]] std::optional<int> GivenConnection(std::string_view mountpoint);

/// Takes over the descriptor: closes `number` and returns a copy, which programs that are executed
/// later do not inherit. kInvalidArgument if nothing is mounted with the descriptor, or if another
/// program has already read its first message.
[[nodiscard]] Result<Descriptor> TakeConnection(int number);

}  // namespace zarrfs
