// A FUSE connection that another program mounted and passed to zarrfs as an open descriptor, with
// the mount point /dev/fd/N.
//
// A pod that may not mount gets the descriptor from a driver that may. The pod does not see the
// mount, so zarrfs neither accesses nor unmounts it. zarrfs serves the connection until zarrfs gets
// a signal to end or the driver unmounts. The driver decides the mount's flags.
#pragma once

#include <optional>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Returns the number N of a mount point "/dev/fd/N" if that descriptor of this process is a FUSE
/// device. Checks only the descriptor, and accesses no path.
[[nodiscard]] std::optional<int> GivenConnection(std::string_view mountpoint);

/// Takes over the descriptor: closes `number` and returns a copy that is closed on exec(2). Fails
/// with kInvalidArgument if nothing is mounted with the descriptor, or if another program has
/// already read the kernel's first message.
[[nodiscard]] Result<Descriptor> TakeConnection(int number);

}  // namespace zarrfs
