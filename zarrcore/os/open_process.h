// A process as a descriptor, which keeps standing for that process even if its pid is reused.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// A descriptor of the process, readable once it has ended (pidfd_open(2)). Empty, with errno set,
/// if there is no such process (ESRCH).
[[nodiscard]] inline Descriptor OpenProcess(pid_t pid) {
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace zarrfs
