// The process that answers the kernel.
//
//   main thread     opens the store, receives the mounted FUSE device from the keeper, runs
//                   libfuse's loop and its threads
//   attendant       accesses the root of the new mount as a reader would, and reports to the keeper
//                   when it answers; then handles the keeper's messages, and ends the process when
//                   the mount is gone
//
// A request that is stuck in the store delays neither the keeper's messages nor the end.
//
// A worker that takes over from another one finds the mount there and readers waiting. It goes on
// with the ids that its predecessors gave out (fs/ids/id_journal.h), has the kernel send again
// what they took and did not answer, and makes it look up every name again, because nobody saw what
// changed meanwhile.
#pragma once

#include <string>

#include "fs/options/options.h"
#include "fs/process/worker_start.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Runs in a child of the keeper (worker_start.h), which must have one thread. The process ends
/// when the keeper does.
[[noreturn]] void RunWorker(MountOptions options, std::string mountpoint, WorkerStart start);

/// The same for a process that answers in place of workers that end again and again
/// (fs/fuse/caretaker.h). `status`: the text of .zarrfs/options.
[[noreturn]] void RunCaretaker(const MountOptions& options, WorkerStart start, std::string status);

}  // namespace zarrfs
