// libfuse's view of a mount.
#ifndef FS_DAEMON_SESSION_H_
#define FS_DAEMON_SESSION_H_

#include <fuse_lowlevel.h>

#include "fs/daemon/options.h"

namespace zarrfs {

/// A session with the options of the mount, which is not mounted yet. Null if there is no memory.
[[nodiscard]] fuse_session* NewSession(const MountOptions& options,
                                       const fuse_lowlevel_ops& operations, void* user_data);

}  // namespace zarrfs

#endif  // FS_DAEMON_SESSION_H_
