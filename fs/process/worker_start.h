// How a worker begins: as a new program.
//
// A child of the keeper becomes the program by exec(2), so that each worker has an address layout
// and stack canaries of its own: a store that attacks one worker learns nothing about the next. The
// options and the numbers of the inherited descriptors are in a memory file: a HandOver whose
// `keeper` is set. The first thing that the new program does is to tell the keeper that it runs
// (Message::Kind::kStarted). Where it cannot run, because it may not be executed any more or its
// libraries are gone, the worker is the forked child itself.
#pragma once

#include <sys/types.h>

#include <optional>

#include "fs/mount/channel.h"
#include "fs/mount/hand_over.h"
#include "fs/options/options.h"
#include "zarrcore/os/descriptor.h"

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
  /// The file of list=, which was opened when the store was mounted; may be empty.
  Descriptor list = {};
  /// The worker's end of the WorkerLog's pipe; empty: it logs to standard error.
  Descriptor log = {};
};

/// In a child of the keeper: becomes the program, which runs as the worker. `state` has the
/// options. Returns on failure, with errno.
void ExecuteWorker(const Descriptor& program, HandOver state, const WorkerStart& start);

/// What a child of the keeper runs: `zarrfs --serve N …`, where N is the number of the memory file,
/// and the other words are for ps(1). The exit code; nullopt if the words are others.
[[nodiscard]] std::optional<int> RunAsWorker(int argc, char** argv);

}  // namespace zarrfs
