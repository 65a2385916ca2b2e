// MountedDevices: finds the kind of a mount by its device, to decide which folders must not be
// entered. Reads only the kernel's mount table, and never accesses a mount.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

enum class MountKind {
  kPlain,
  kZarrfs,
  kKernel,     // proc, sysfs and other kernel file systems
  kAutomount,  // autofs, which mounts another file system on access
};

/// Caches the mount table. Reads the table again when the kernel reports a change or the table
/// lacks a device. Thread-safe.
class MountedDevices {
 public:
  /// The kind of the mount that contains the file of `fd`, an open O_PATH descriptor. `device`: the
  /// device of the file. kIo if the table cannot be read.
  [[nodiscard]] Result<MountKind> KindOf(int fd, dev_t device);

  /// The devices of all zarrfs mounts. kIo if the table cannot be read.
  [[nodiscard]] Result<std::vector<dev_t>> Zarrfs();
  /// The devices of the zarrfs mounts whose mount points lie directly in `folder`, an open folder.
  /// If the path of the folder is unknown, returns the devices of all zarrfs mounts. kIo if the
  /// table cannot be read.
  [[nodiscard]] Result<std::vector<dev_t>> ZarrfsIn(int folder);

 private:
  struct Row {
    dev_t device = 0;
    MountKind kind = MountKind::kPlain;
    std::string path = {};  // the path of the mount point
  };

  // Reads the mount table again if it has changed.
  Result<void> UpdateLocked() REQUIRES(mutex_);
  Result<void> ReadLocked() REQUIRES(mutex_);

  Mutex mutex_;
  Descriptor table_ GUARDED_BY(mutex_);  // /proc/self/mountinfo; empty until it is first read
  std::vector<Row> rows_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
