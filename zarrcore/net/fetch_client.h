// FetchClient: Fetchers that send their requests to a FetchServer in another process.
//
// When the server is replaced, all unanswered requests are sent to the new server. Without a
// server, requests eventually fail with kTimedOut.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "zarrcore/net/fetcher.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class FetchClient {
 public:
  virtual ~FetchClient() = default;
  /// Returns a Fetcher for one of the server's stores (FetchRequest::store). The Fetcher keeps this
  /// client alive.
  [[nodiscard]] virtual std::shared_ptr<const Fetcher> FetcherOf(uint32_t store) const = 0;
};

/// `socket` and `memory`: FetchChannel::client and FetchChannel::memory. `timeout`: time limit of a
/// request, which must exceed the server's own limit for all attempts. `on_notice`: called on
/// another thread with each message that the server sends for the log. Waits for the server's first
/// answer. Starts a thread, which outlives the client and ends with the process.
[[nodiscard]] Result<std::shared_ptr<const FetchClient>> OpenFetchClient(
    Descriptor socket, const Descriptor& memory, std::chrono::milliseconds timeout,
    std::function<void(std::string_view)> on_notice = {});

}  // namespace zarrfs
