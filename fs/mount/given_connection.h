// A FUSE connection that another program mounted and passed to zarrfs as an open descriptor, with
// the mount point /dev/fd/N.
//
// A pod that may not mount gets such a descriptor from a driver that may. The mount is not in
// the pod's view, so zarrfs neither looks at it nor unmounts it: it serves the connection until it
// is told to end or the driver unmounts. The driver decides the mount's flags.
#pragma once

#include <optional>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The number N of a mount point "/dev/fd/N" if that descriptor of this process is a FUSE device.
/// Looks at the descriptor and at no path.
[[nodiscard]] std::optional<int> GivenConnection(std::string_view mountpoint);

/// Takes over the descriptor, which is closed under its own number, so programs that are executed
/// later do not inherit it. kInvalidArgument if nothing is mounted with it, or if another program
/// has already read its first message.
[[nodiscard]] Result<Descriptor> TakeConnection(int number);

}  // namespace zarrfs
