// Fetcher: requests objects of a bucket or web server. Each call is one request.
//
// Two processes implement Fetcher: FetchClient (net/fetch_client.h) forwards requests over a
// FetchChannel to a FetchServer (net/fetch_server.h). Only the server has the network, resolver,
// certificates and credentials, so the code that parses the received bytes has access to none of
// these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Maximum number of bytes of one request.
inline constexpr size_t kMaxFetchBytes = 8u << 20;
/// Maximum size of a listing page: 1000 keys of 1024 bytes, encoded.
inline constexpr size_t kMaxListBytes = 4u << 20;

struct Fetched {
  Version version;      // `etag` as sent, with quotes; its times are Last-Modified; 0 if unknown
  uint64_t offset = 0;  // the offset in the object of the first byte received
  size_t length = 0;
};

/// Requests objects. Thread-safe. Each call blocks until the store has answered, or all attempts
/// have failed or timed out.
class Fetcher {
 public:
  virtual ~Fetcher() = default;

  /// Reads `range`, clipped to the object, into the beginning of `out`, which has at most
  /// kMaxFetchBytes. `only`: requests this version; kStale if the object has another version.
  /// kNotFound only if the store says that the object does not exist; kPermissionDenied if the
  /// store does not let this reader know whether the object exists.
  [[nodiscard]] virtual Result<Fetched> Get(std::string_view key, ByteRange range,
                                            const Version* only,
                                            std::span<std::byte> out) const = 0;

  /// Returns one page of the names directly below `folder`, as XML of ListObjectsV2. The page has
  /// at most `max_keys` names, and follows the page that returned `continuation` ("" for the first
  /// page). S3 only.
  [[nodiscard]] virtual Result<std::string> ListPage(std::string_view folder,
                                                     std::string_view continuation,
                                                     uint32_t max_keys) const = 0;
};

}  // namespace zarrfs
