// FetchClient: a Fetcher that delegates to a FetchServer in another process.
//
// If the server ends and another one replaces it, the new server gets all unanswered requests
// again. Without a server, requests eventually fail (kTimedOut).
#pragma once

#include <chrono>
#include <memory>

#include "zarrcore/net/fetcher.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// `socket` and `memory`: of a FetchChannel. `patience`: how long a request may take; longer than
/// the server takes for all attempts. Waits for the server's first answer. Starts a thread, which
/// outlives the client and ends with the process.
[[nodiscard]] Result<std::shared_ptr<const Fetcher>> OpenFetchClient(
    Descriptor socket, const Descriptor& memory, std::chrono::milliseconds patience);

}  // namespace zarrfs
