// FetchJob: a request that a FetchServer has not answered yet. Origin: the store to which the
// request goes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/immutable_keys.h"
#include "zarrcore/net/addresses.h"
#include "zarrcore/net/cache_route.h"
#include "zarrcore/net/credentials.h"
#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/net/request_limit.h"

namespace zarrfs {

/// A store to which requests are sent: that of the mount, or a prefix of virtual=.
struct Origin {
  Origin(const RemoteSource& of, size_t connections)
      : source(WithProfile(of)), addresses(source), route(source.options), limit(connections) {}

  /// False if the mount's own store is a local folder, so it has no address.
  [[nodiscard]] bool exists() const { return !source.url.empty(); }
  [[nodiscard]] std::string UrlOf(const FetchRequest& request) const {
    return request.key.empty() ? source.url : source.url + '/' + PercentEncode(request.key);
  }
  /// The address whose hash selects the cache for the request (via=).
  [[nodiscard]] std::string CachedUrlOf(const FetchRequest& request) const {
    if (request.kind == FetchRequest::Kind::kGet) return UrlOf(request);
    return source.list_url + '?' + source.prefix + request.key;
  }
  [[nodiscard]] std::string Name(const FetchRequest& request) const {
    return request.key.empty() ? source.name : fmt::format("{}/{}", source.name, request.key);
  }

  const RemoteSource source;
  const Addresses addresses;
  CacheRoute route;
  std::optional<Credentials> credentials = {};
  ImmutableKeys immutable = {};  // keys whose cached bytes need no revalidation
  RequestLimit limit;
  size_t running = 0;
  bool has_answered = false;  // the store has answered at least once
  int64_t clock_error_s = 0;
};

/// A request of the client, and the state of its attempts.
struct FetchJob {
  using Clock = std::chrono::steady_clock;

  FetchRequest request;
  Origin& origin;
  Clock::time_point deadline;
  Clock::time_point next;        // when the next attempt is due
  Clock::time_point begun = {};  // when the last attempt was sent
  int attempts = 0;
  uint64_t charged = 0;  // bytes charged to BandwidthLimit for the last attempt
  bool no_range = false;
  std::string redirected =
      {};  // the address of the next attempt after a redirection; "" for the object's own address
  int redirections = 0;       // the number of consecutive redirections so far
  Error problem = {};         // the error of the last attempt
  AwsKey key = {};            // the key that signed the last attempt
  int64_t clock_error_s = 0;  // Origin::clock_error_s when the last attempt was sent
  std::unique_ptr<HttpTransfer> transfer = {};
  // The cache that the last attempt was sent to; null for the store.
  CacheRoute::Cache* cache = nullptr;
  bool asks_store = false;          // true if a cache failed: later attempts skip the caches
  uint64_t heard = 0;               // HttpTransfer::heard() when it was last checked
  Clock::time_point heard_at = {};  // when `heard` last grew
  // The version in the disk cache, which must be compared with the store's version; nullopt if
  // none.
  std::optional<Version> on_disk = {};
  Clock::time_point asked_disk = {};
  // Receives the bytes of a reply that may be written to the disk cache. Empty if the bytes go
  // directly to the shared memory.
  std::vector<std::byte> own = {};
};

/// A list, so jobs keep their addresses when they move from one list to another.
using FetchJobs = std::list<FetchJob>;

}  // namespace zarrfs
