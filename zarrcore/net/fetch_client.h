// FetchClient: a Fetcher that has a FetchServer in another process do the work.
//
// If the server ends and another one takes its place, it gets all requests again that were not
// answered. Without a server, requests fail in the end (kTimedOut).
#pragma once

#include <chrono>
#include <memory>

#include "zarrcore/net/fetcher.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// `socket` and `memory`: of a FetchChannel. `patience`: how long a request may take; longer than
/// the server takes for all attempts. Waits for the server's first answer. Starts a thread, which
/// outlives the client (a process that is to end ends it).
[[nodiscard]] Result<std::shared_ptr<const Fetcher>> OpenFetchClient(
    Descriptor socket, const Descriptor& memory, std::chrono::milliseconds patience);

}  // namespace zarrfs
