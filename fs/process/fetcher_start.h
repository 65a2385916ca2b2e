// Starts a fetcher as a separate program, like a worker (worker_start.h).
//
// The fetcher's options, the contents of the files of headers= and query=, and the numbers of the
// inherited descriptors are in a memory file, so none of them is in its command line. A fetcher
// keeps the environment of the keeper, which may contain keys. First, the new program writes its
// version of the channel (FetchChannel::kVersion) into a pipe, so the keeper knows that the fetcher
// runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/mount/start_message.h"
#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Executes `program` as a fetcher, in a child of the keeper. `state` has the options. `begun` is
/// the write end of the pipe in which the fetcher reports its version. Returns only on failure,
/// with errno set.
void ExecuteFetcher(const Descriptor& program, StartMessage state, const FetchChannel& channel,
                    const std::vector<SecretTexts>& secrets, const Descriptor& begun);

/// Writes this program's FetchChannel::kVersion into the pipe `begun`.
void ReportFetcherBegun(const Descriptor& begun);

/// Drops the privileges of the fetcher's process; see FetcherProcess::Confine. Returns a
/// description for .zarrfs/options, such as "uid 61211".
[[nodiscard]] std::string ConfineFetcher(std::string_view why_same_user);

/// Runs a fetcher if the arguments are `zarrfs --fetch N …`, which the keeper passes. N is the
/// number of the memory file; the other words are only for ps(1). Returns the exit code; nullopt
/// for other arguments.
[[nodiscard]] std::optional<int> RunAsFetcher(int argc, char** argv);

}  // namespace zarrfs
