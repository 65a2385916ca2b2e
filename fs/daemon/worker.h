// The process that answers the kernel.
//
//   main thread     opens the store, gets the mounted FUSE device from the keeper, runs libfuse's
//                   loop and its threads
//   attendant       asks the new mount for its root, as any reader will, and tells the keeper when
//                   it answers; then hears what the keeper has to say, and sees to it that the
//                   process ends when the mount has
//
// A request that is stuck in the store holds up neither the keeper's word nor the end.
#ifndef FS_DAEMON_WORKER_H_
#define FS_DAEMON_WORKER_H_

#include <string>

#include "fs/daemon/channel.h"
#include "fs/daemon/options.h"

namespace zarrfs {

/// In the child that the keeper `keeper_pid` has just forked, which has one thread. Ends with it.
[[noreturn]] void RunWorker(MountOptions options, std::string mountpoint, Channel keeper,
                            pid_t keeper_pid);

/// Fails if there is no store to serve.
[[nodiscard]] Result<void> TryOpening(const MountOptions& options);

}  // namespace zarrfs

#endif  // FS_DAEMON_WORKER_H_
