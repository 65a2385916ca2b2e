// FetchChannel: the connection between FetchClient and FetchServer, which are in two processes. It
// has a pair of sockets for requests and answers, and shared memory for the bytes. The client
// assigns a part of this memory, called a piece, to each request. A server has a random number, its
// generation.
//
//   client                                       server
//   Hello{id}          ───────────────────────▶  drops all requests of an earlier client
//                      ◀───────────────────────  Answer{id, generation}
//   Request{id, generation, piece, …} ────────▶  fills the piece of memory
//                      ◀───────────────────────  Answer{id, …}
//                      ◀───────────────────────  Answer{0, generation, message}: for the log
//                      ◀───────────────────────  Answer{0, generation}: a new server
//   all unanswered requests, with the new
//   generation         ───────────────────────▶  ignores requests with another generation
//
// The parent of the processes keeps both sockets, so a client or server that ends can be replaced
// while the other process continues. A server answers a request once, and only if the request names
// the server's generation. So no server writes to a piece after its request was answered.
//
// The two processes may be running different builds. Each message begins with the version of the
// channel, and a receiver skips messages of another version. The parent compares the versions that
// both processes report. If they differ, it replaces both processes by copies of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct FetchRequest {
  enum class Kind : uint32_t { kHello, kGet, kList };
  Kind kind = Kind::kHello;
  uint64_t id = 0;          // never 0
  uint64_t generation = 0;  // servers of another generation ignore the request
  /// Which store to read: 0 for the store of the mount, n for the n-th prefix of virtual= that is
  /// not local, counted from 1 (RemoteSource::prefixes).
  uint32_t store = 0;
  ByteRange range = {};
  // The piece of shared memory that receives the bytes: its offset and length.
  uint64_t at = 0;
  uint64_t length = 0;
  /// True to request only the version with modified_ns, size, and the ETag in `condition`; see
  /// Fetcher::Get().
  bool is_conditional = false;
  int64_t modified_ns = 0;
  uint64_t size = 0;
  uint32_t max_keys = 0;
  std::string key = {};        // the key of the object or folder
  std::string condition = {};  // the version to request, or the continuation token of a listing
};

struct FetchAnswer {
  uint64_t id = 0;          // FetchRequest::id; 0 in a server's first message and in log messages
  uint64_t generation = 0;  // the generation of the answering server
  std::optional<ErrorCode> error = {};
  uint64_t size = 0;  // the size of the whole object
  int64_t modified_ns = 0;
  uint64_t offset = 0;
  uint64_t length = 0;  // the number of bytes written to shared memory
  std::string etag = {};
  std::string message = {};  // the message of the error, or the line for the log
};

/// Counters of a mount's requests to a bucket or web server, including retries.
struct FetchCounts {
  uint64_t gets = 0;            // the number of requests for objects or parts of them
  uint64_t lists = 0;           // the number of requests for pages of listings
  uint64_t received_bytes = 0;  // the size of the received bodies, including those of errors
  // Results of the requests that were sent to caches (via=). Hit: the cache had the reply, or its
  // beginning. Miss: the cache asked the store. Failure: the cache's reply was not used.
  uint64_t cache_hits = 0;
  uint64_t cache_misses = 0;
  uint64_t cache_failures = 0;

  bool operator==(const FetchCounts&) const = default;
};

struct FetchChannel {
  /// The version of the messages and of the layout of the shared memory. Each message begins with
  /// this version, in 4 bytes.
  static constexpr uint32_t kVersion = 3;
  /// The size in bytes of the part of the shared memory that holds pieces. The text of WriteNote()
  /// and the FetchCounts follow it. Pages that were never touched use no memory.
  static constexpr uint64_t kMemory = 40u << 20;

  Descriptor client;
  Descriptor server;
  Descriptor memory;

  [[nodiscard]] static Result<FetchChannel> Make();
  /// WriteNote() stores the server's description of its sandbox in the shared memory, and
  /// ReadNote() returns it. Every process that has the memory can change the text, so it is only
  /// for display.
  static void WriteNote(const Descriptor& memory, std::string_view text);
  [[nodiscard]] static std::string ReadNote(const Descriptor& memory);
  /// Count() and CountCache() increment the FetchCounts in the shared memory, and ReadCounts()
  /// returns them. The counters outlive servers and clients. Every process that has the memory can
  /// change the counters, so they are only for display.
  static void Count(const Descriptor& memory, FetchRequest::Kind kind, uint64_t received_bytes);
  static void CountCache(const Descriptor& memory, uint64_t FetchCounts::*result);
  [[nodiscard]] static FetchCounts ReadCounts(const Descriptor& memory);
  /// Maps the first kMemory bytes of the shared memory, which hold the pieces. Null, with errno
  /// set, on failure.
  [[nodiscard]] static std::byte* Map(const Descriptor& memory);
};

/// Sends a message, without waiting unless `waits`. False, with errno set, on failure: EMSGSIZE if
/// a key, condition or ETag is longer than 16 KiB. Error messages are truncated.
bool Send(const Descriptor& socket, const FetchRequest& request, bool waits = true);
bool Send(const Descriptor& socket, const FetchAnswer& answer, bool waits = false);

/// Receives the next message. nullopt if no message is waiting (errno is EAGAIN) or the other end
/// is closed (errno is 0). Malformed messages are skipped.
[[nodiscard]] std::optional<FetchRequest> ReceiveRequest(const Descriptor& socket, bool waits);
[[nodiscard]] std::optional<FetchAnswer> ReceiveAnswer(const Descriptor& socket, bool waits);

}  // namespace zarrfs
