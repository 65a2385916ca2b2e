// Fetcher: asks for the objects of a bucket or web server, one request each.
//
// Two classes stand behind it, in two processes: FetchClient (net/fetch_client.h) passes requests
// on, over a FetchChannel, to a FetchServer (net/fetch_server.h), which alone knows the network,
// names of hosts, certificates and credentials. So what parses the bytes that come back needs none
// of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Bytes that one request may ask for.
inline constexpr size_t kMaxFetchBytes = 8u << 20;
/// Bytes that a page of a listing may have: 1000 keys of 1024 bytes, encoded.
inline constexpr size_t kMaxListBytes = 4u << 20;

struct Fetched {
  Version version;      // `etag` as it was sent, with quotes; times are Last-Modified, or 0
  uint64_t offset = 0;  // of the first byte that came
  size_t length = 0;
};

/// Thread-safe. Each call waits for the answer, with all attempts, for as long as the store may
/// take.
class Fetcher {
 public:
  virtual ~Fetcher() = default;

  /// Reads `range`, clipped to the object, into the front of `out`, which has at most
  /// kMaxFetchBytes. `only`: that version and no other (kStale). kNotFound only if the store says
  /// that there is no such object; kPermissionDenied if it says that this reader may not know.
  [[nodiscard]] virtual Result<Fetched> Get(std::string_view key, ByteRange range,
                                            const Version* only,
                                            std::span<std::byte> out) const = 0;

  /// One page of names directly below `folder`, as XML of ListObjectsV2: at most `max_keys`, after
  /// those of the page that gave `continuation` ("" at first). S3 alone.
  [[nodiscard]] virtual Result<std::string> ListPage(std::string_view folder,
                                                     std::string_view continuation,
                                                     uint32_t max_keys) const = 0;
};

}  // namespace zarrfs
