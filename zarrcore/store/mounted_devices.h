// What is mounted, by device: which folders must not be entered. Only the kernel's table is asked,
// never a mount itself.
#ifndef ZARRCORE_STORE_MOUNTED_DEVICES_H_
#define ZARRCORE_STORE_MOUNTED_DEVICES_H_

#include <sys/types.h>

#include <vector>

#include "zarrcore/base/mount_table.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

enum class MountKind {
  kPlain,
  kZarrfs,
  kKernel,     // shows objects of the kernel: proc, sysfs and their like
  kAutomount,  // autofs: what is used there is mounted then
};

/// The table as it was when it was needed last. For one thread.
class MountedDevices {
 public:
  /// The kind of the mount that `fd` (an open O_PATH descriptor) lies in. kIo if the table cannot
  /// be read.
  [[nodiscard]] Result<MountKind> KindOf(int fd, dev_t device);

  /// The devices of all zarrfs mounts; kIo likewise.
  [[nodiscard]] static Result<std::vector<dev_t>> Zarrfs();

 private:
  std::vector<Mounted> table_;
};

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_MOUNTED_DEVICES_H_
