// The process that answers the kernel.
//
//   main thread     opens the store, receives the mounted FUSE device from the keeper, runs
//                   libfuse's loop and its threads
//   attendant       accesses the root of the new mount as a reader would, and reports to the keeper
//                   when it answers; then handles the keeper's messages, and ends the process when
//                   the mount is gone
//
// A request that is stuck in the store delays neither the keeper's messages nor the end.
#pragma once

#include <string>

#include "fs/daemon/channel.h"
#include "fs/daemon/options.h"

namespace zarrfs {

/// Runs in the child that the keeper `keeper_pid` has just forked, which must have one thread. The
/// process ends when the keeper does.
[[noreturn]] void RunWorker(MountOptions options, std::string mountpoint, Channel keeper,
                            pid_t keeper_pid);

/// Opens the store as a worker would, and closes it. Fails if there is no store to serve.
[[nodiscard]] Result<void> TryOpening(const MountOptions& options);

}  // namespace zarrfs
