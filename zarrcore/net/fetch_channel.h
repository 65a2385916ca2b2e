// FetchChannel: what FetchClient and FetchServer, in two processes, share: a pair of sockets for
// requests and answers, and memory for the bytes.
//
//   client                                       server
//   Hello{id}          ───────────────────────▶  drops all requests of an earlier client
//                      ◀───────────────────────  Answer{id, generation}
//   Request{id, generation, piece, …} ────────▶  fills the piece of memory
//                      ◀───────────────────────  Answer{id, …}
//                      ◀───────────────────────  Answer{0, generation}: a new server
//   all unanswered requests, with the new
//   generation         ───────────────────────▶  ignores requests with another generation
//
// The parent of the processes keeps both sockets, so a client or server that ends can be replaced
// while the other one continues. The client alone assigns pieces of the memory. One server handles
// each request, once: a piece is not written after its request was answered.
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
  uint64_t generation = 0;  // of the server that must answer
  ByteRange range = {};
  // Its piece of the memory.
  uint64_t at = 0;
  uint64_t length = 0;
  /// Asks for this version only (Fetcher::Get): `condition` is its ETag.
  bool is_conditional = false;
  int64_t modified_ns = 0;
  uint64_t size = 0;
  uint32_t max_keys = 0;
  std::string key = {};        // or the folder
  std::string condition = {};  // or the continuation
};

struct FetchAnswer {
  uint64_t id = 0;          // 0: a server has started
  uint64_t generation = 0;  // of this server
  std::optional<ErrorCode> error = {};
  uint64_t size = 0;  // of the object
  int64_t modified_ns = 0;
  uint64_t offset = 0;
  uint64_t length = 0;  // of what was written into the piece
  std::string etag = {};
  std::string message = {};  // of the error
};

struct FetchChannel {
  /// Bytes of the memory. Pages that no request has touched use none.
  static constexpr uint64_t kMemory = 40u << 20;

  Descriptor client;
  Descriptor server;
  Descriptor memory;

  [[nodiscard]] static Result<FetchChannel> Make();
  /// The server's description of its sandbox, for people; stored behind the memory, where anyone
  /// with the memory can write it.
  static void WriteNote(const Descriptor& memory, std::string_view text);
  [[nodiscard]] static std::string ReadNote(const Descriptor& memory);
  /// Maps the memory; null, with errno set, on failure.
  [[nodiscard]] static std::byte* Map(const Descriptor& memory);
};

/// Sends without waiting unless `waits`. False, with errno set, on failure: EMSGSIZE if a key,
/// condition or ETag is longer than 16 KiB. Error messages are truncated.
bool Send(const Descriptor& socket, const FetchRequest& request, bool waits = true);
bool Send(const Descriptor& socket, const FetchAnswer& answer, bool waits = false);

/// The next message; nullopt, with errno set, if none is waiting (EAGAIN) or the other end is
/// closed (0). Malformed messages are skipped.
[[nodiscard]] std::optional<FetchRequest> ReceiveRequest(const Descriptor& socket, bool waits);
[[nodiscard]] std::optional<FetchAnswer> ReceiveAnswer(const Descriptor& socket, bool waits);

}  // namespace zarrfs
