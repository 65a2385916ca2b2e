// FetchChannel: what a FetchClient and a FetchServer have in common, in two processes: a pair of
// sockets for requests and answers, and memory for the bytes.
//
//   client                                       server
//   Hello{id}          ───────────────────────▶  gives up all that an earlier client asked for
//                      ◀───────────────────────  Answer{id, generation}
//   Request{id, generation, piece, …} ────────▶  fills the piece of the memory
//                      ◀───────────────────────  Answer{id, …}
//                      ◀───────────────────────  Answer{0, generation}: a new server
//   all unanswered requests, with the new
//   generation         ───────────────────────▶  (overlooks those with another one)
//
// Who starts the processes keeps both sockets, so that a client or a server that ends can be
// replaced and the other one goes on. The client alone decides which piece is whose. One server
// handles each request, once: nobody writes into a piece whose request was answered.
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
  uint64_t generation = 0;  // of the server that is to answer
  ByteRange range = {};
  // The piece of the memory.
  uint64_t at = 0;
  uint64_t length = 0;
  /// Asks for this version alone (Fetcher::Get): `condition` is its ETag.
  bool is_conditional = false;
  int64_t modified_ns = 0;
  uint64_t size = 0;
  uint32_t max_keys = 0;
  std::string key = {};        // or the folder
  std::string condition = {};  // or the continuation
};

struct FetchAnswer {
  uint64_t id = 0;          // 0: a server has begun
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
  /// Bytes of the memory. Pages that no request ever touched take none.
  static constexpr uint64_t kMemory = 40u << 20;

  Descriptor client;
  Descriptor server;
  Descriptor memory;

  [[nodiscard]] static Result<FetchChannel> Make();
  /// What the server says of its sandbox, for people: beside the memory. Whoever has the memory can
  /// write it.
  static void WriteNote(const Descriptor& memory, std::string_view text);
  [[nodiscard]] static std::string ReadNote(const Descriptor& memory);
  /// All of the memory, mapped; null, with errno, if it cannot be.
  [[nodiscard]] static std::byte* Map(const Descriptor& memory);
};

/// Sends without waiting unless `waits`. False, with errno, if it cannot: EMSGSIZE if a key, a
/// condition or an ETag is longer than 16 KiB. (A message is cut.)
bool Send(const Descriptor& socket, const FetchRequest& request, bool waits = true);
bool Send(const Descriptor& socket, const FetchAnswer& answer, bool waits = false);

/// The next message; nullopt, with errno, if there is none now (EAGAIN), or none any more (0).
/// Other messages than these are left out.
[[nodiscard]] std::optional<FetchRequest> ReceiveRequest(const Descriptor& socket, bool waits);
[[nodiscard]] std::optional<FetchAnswer> ReceiveAnswer(const Descriptor& socket, bool waits);

}  // namespace zarrfs
