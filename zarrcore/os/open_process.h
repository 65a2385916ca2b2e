// Opens a descriptor of a process. The descriptor refers to that process even if its pid is reused.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Returns a descriptor of the process, which becomes readable when the process ends
/// (pidfd_open(2)). Empty, with errno set, if the process does not exist (ESRCH).
[[nodiscard]] inline Descriptor OpenProcess(pid_t pid) {
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace zarrfs
