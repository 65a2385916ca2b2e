// A process as a descriptor, which stands for that process even if its number is used again.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// A descriptor of the process, readable once it has ended (pidfd_open(2)). Empty, with errno, if
/// there is none (ESRCH).
[[nodiscard]] inline Descriptor OpenProcess(pid_t pid) {
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace zarrfs
