// Mounts by device, to know which folders must not be entered. Reads only the kernel's table and
// never accesses a mount.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <utility>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

enum class MountKind {
  kPlain,
  kZarrfs,
  kKernel,     // proc, sysfs and the like
  kAutomount,  // autofs: an access mounts the real thing
};

/// Caches the table; reads it again when the kernel reports a change or the table lacks a device.
/// Thread-safe.
class MountedDevices {
 public:
  /// The kind of the mount that `fd` (an open O_PATH descriptor) lies in. kIo if the table cannot
  /// be read.
  [[nodiscard]] Result<MountKind> KindOf(int fd, dev_t device);

  /// The devices of all zarrfs mounts. kIo if the table cannot be read.
  [[nodiscard]] Result<std::vector<dev_t>> Zarrfs();

 private:
  // Reads the table if it has changed.
  Result<void> UpdateLocked();
  Result<void> ReadLocked();

  std::mutex mutex_;  // guards the rest
  Descriptor table_;  // of /proc/self/mountinfo; empty until it is first read
  std::vector<std::pair<dev_t, MountKind>> devices_;
};

}  // namespace zarrfs
