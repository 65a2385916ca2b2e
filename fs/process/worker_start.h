// Starts a worker as a new program.
//
// A child of the keeper becomes the program by exec(2), so each worker has its own address layout
// and stack canaries: a store that attacks one worker learns nothing about the next. The options
// and the numbers of the inherited descriptors are in a memory file (StartMessage). First, the new
// program tells the keeper that it runs (Message::Kind::kStarted). If exec(2) fails, the forked
// child itself becomes the worker. If the program ends before its report, for example because its
// libraries are missing, the keeper forks a worker that executes no program (beginning.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "fs/mount/channel.h"
#include "fs/mount/start_message.h"
#include "fs/options/options.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

struct WorkerStart {
  Channel keeper;
  pid_t keeper_pid = -1;
  std::string keeper_version = ZARRFS_VERSION;
  uint64_t start_format = StartMessage::kFormat;  // the format of the keeper's start messages
  bool takes_over = false;                        // true if an earlier worker has served the mount
  Descriptor ids = {};       // the file of the IdJournal; empty if no worker can take over
  Descriptor ids_file = {};  // the file of the IdFile; empty if the option `ids` is not set
  /// The folder of the store (Location::folder), if the mount covers the folder's path.
  Descriptor source = {};
  /// The channel to the fetcher of a store behind a network, from StoreFetcher; otherwise empty.
  Descriptor fetch_socket = {};
  Descriptor fetch_memory = {};
  /// The file of the option list=, which was opened when the store was mounted; may be empty.
  Descriptor list = {};
  /// The worker's end of the WorkerLog's pipe; if empty, the worker logs to standard error.
  Descriptor log = {};
};

/// Executes `program` as a worker, in a child of the keeper. `state` has the options. Returns only
/// on failure, with errno set.
void ExecuteWorker(const Descriptor& program, StartMessage state, const WorkerStart& start);

/// Runs a worker if the arguments are `zarrfs --serve N …`, which the keeper passes. N is the
/// number of the memory file; the other words are only for ps(1). Returns the exit code; nullopt
/// for other arguments.
[[nodiscard]] std::optional<int> RunAsWorker(int argc, char** argv);

}  // namespace zarrfs
