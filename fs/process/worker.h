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

#include "fs/mount/channel.h"
#include "fs/options/options.h"

namespace zarrfs {

struct WorkerStart {
  Channel keeper;
  pid_t keeper_pid = -1;
  bool takes_over = false;  // from another worker
  Descriptor ids = {};      // of the IdJournal; empty: nobody will take over
  /// The folder of the store (Location::folder), where the mount hides its path.
  Descriptor source = {};
  /// To the fetcher of a store behind a network, else empty: of the StoreFetcher.
  Descriptor fetch_socket = {};
  Descriptor fetch_memory = {};
};

/// Runs in the child that the keeper has just forked, which must have one thread. The process ends
/// when the keeper does.
[[noreturn]] void RunWorker(MountOptions options, std::string mountpoint, WorkerStart start);

/// The same for a process that answers in place of workers that end again and again
/// (fs/fuse/caretaker.h). `status`: the text of .zarrfs/options.
[[noreturn]] void RunCaretaker(const MountOptions& options, WorkerStart start, std::string status);

/// Opens the store as a worker would, in a process of its own, and closes it. Fails if there is no
/// store to serve. `source`: as of WorkerStart.
[[nodiscard]] Result<void> TryOpening(const MountOptions& options, Descriptor source = {});

}  // namespace zarrfs
