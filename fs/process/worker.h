// The worker: the process that answers the kernel.
//
//   main thread     opens the store, receives the mounted FUSE device from the keeper, runs
//                   libfuse's loop and its threads
//   attendant       a thread that accesses the root of the new mount as a reader would, and reports
//                   to the keeper once the mount answers; then handles the keeper's messages, and
//                   ends the process when the mount has ended
//
// A request that is stuck in the store delays neither the keeper's messages nor the end of the
// process.
//
// A worker that takes over finds a mount with waiting readers. It continues with the ids that its
// predecessors assigned (fs/ids/id_journal.h), has the kernel resend the requests that they
// received but did not answer, and makes the kernel look up every name again, because changes in
// the meantime were not noticed.
#pragma once

#include <string>

#include "fs/options/options.h"
#include "fs/process/worker_start.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Runs a worker in this process, which must be a child of the keeper (worker_start.h) and have one
/// thread. The kernel kills the worker when the keeper exits.
[[noreturn]] void RunWorker(MountOptions options, std::string mountpoint, WorkerStart start);

/// Runs a caretaker (fs/fuse/caretaker.h), a process that answers with errors after too many
/// workers have ended. `status`: the contents of .zarrfs/options.
[[noreturn]] void RunCaretaker(const MountOptions& options, WorkerStart start, std::string status);

}  // namespace zarrfs
