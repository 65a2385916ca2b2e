#include "zarrcore/net/fetch_channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace zarrfs {
namespace {

// The maximum size of strings in messages, in bytes. S3 keys have at most 1024 bytes, continuation
// tokens a few hundred.
constexpr size_t kMaxMessageText = 16u << 10;
constexpr size_t kMaxNote = 1024;

// The wire format of messages: the version, fixed-size numbers, then two strings. Any change of
// this format must increment FetchChannel::kVersion.
struct RequestHead {
  uint32_t version, kind;
  uint64_t id, generation, offset, range, at, length, size;
  int64_t modified_ns;
  uint32_t max_keys, from_end, is_conditional, first, second, store;
};
struct AnswerHead {
  uint32_t version, error;  // error: 0, or the error code plus 1
  uint64_t id, generation, size, offset, length;
  int64_t modified_ns;
  uint32_t first, second;
};

template <typename Head>
bool SendMessage(const Descriptor& socket, Head head, std::string_view first,
                 std::string_view second, bool waits) {
  if (first.size() > kMaxMessageText || second.size() > kMaxMessageText) {
    errno = EMSGSIZE;
    return false;
  }
  head.version = FetchChannel::kVersion;
  head.first = static_cast<uint32_t>(first.size());
  head.second = static_cast<uint32_t>(second.size());
  std::array<iovec, 3> parts = {iovec{&head, sizeof head},
                                iovec{const_cast<char*>(first.data()), first.size()},
                                iovec{const_cast<char*>(second.data()), second.size()}};
  const msghdr message = {nullptr, 0, parts.data(), parts.size(), nullptr, 0, 0};
  const int flags = MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT);
  return TEMP_FAILURE_RETRY(sendmsg(socket.get(), &message, flags)) > 0;
}

template <typename Head>
struct Received {
  Head head;
  std::string first, second;
};

template <typename Head>
std::optional<Received<Head>> ReceiveMessage(const Descriptor& socket, bool waits) {
  std::array<char, sizeof(Head) + 2 * kMaxMessageText> buffer;
  for (;;) {
    const auto length = TEMP_FAILURE_RETRY(
        recv(socket.get(), buffer.data(), buffer.size(), waits ? 0 : MSG_DONTWAIT));
    if (length <= 0) {
      if (length == 0) errno = 0;
      return std::nullopt;
    }
    Received<Head> received;
    if (static_cast<size_t>(length) < sizeof(Head)) continue;
    std::memcpy(&received.head, buffer.data(), sizeof(Head));
    const std::string_view texts(buffer.data() + sizeof(Head),
                                 static_cast<size_t>(length) - sizeof(Head));
    if (received.head.version != FetchChannel::kVersion) continue;
    if (uint64_t{received.head.first} + received.head.second != texts.size()) continue;
    received.first = texts.substr(0, received.head.first);
    received.second = texts.substr(received.head.first);
    return received;
  }
}

}  // namespace

Result<FetchChannel> FetchChannel::Make() {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Fail(FromErrno(errno), "no descriptors: {}", ErrnoText(errno));
  }
  FetchChannel channel{Descriptor(ends[0]), Descriptor(ends[1]),
                       Descriptor(memfd_create("zarrfs-fetch", MFD_CLOEXEC | MFD_ALLOW_SEALING))};
  // The seals prevent either process from shrinking the memory, which would crash the other
  // process.
  if (!channel.memory ||
      ftruncate(channel.memory.get(), kMemory + kMaxNote + sizeof(FetchCounts)) != 0 ||
      fcntl(channel.memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Fail(FromErrno(errno), "cannot create shared memory: {}", ErrnoText(errno));
  }
  return channel;
}

void FetchChannel::WriteNote(const Descriptor& memory, std::string_view text) {
  std::array<char, kMaxNote> note = {};
  std::ranges::copy(text.substr(0, note.size() - 1), note.begin());
  static_cast<void>(TEMP_FAILURE_RETRY(pwrite(memory.get(), note.data(), note.size(), kMemory)));
}

std::string FetchChannel::ReadNote(const Descriptor& memory) {
  std::array<char, kMaxNote> note = {};
  static_cast<void>(TEMP_FAILURE_RETRY(pread(memory.get(), note.data(), note.size() - 1, kMemory)));
  return note.data();
}

FetchCounts FetchChannel::ReadCounts(const Descriptor& memory) {
  constexpr uint64_t kAt = kMemory + kMaxNote;
  FetchCounts counts;
  static_cast<void>(TEMP_FAILURE_RETRY(pread(memory.get(), &counts, sizeof counts, kAt)));
  return counts;
}

void FetchChannel::Count(const Descriptor& memory, FetchRequest::Kind kind,
                         uint64_t received_bytes) {
  constexpr uint64_t kAt = kMemory + kMaxNote;
  FetchCounts counts = ReadCounts(memory);
  ++(kind == FetchRequest::Kind::kList ? counts.lists : counts.gets);
  counts.received_bytes += received_bytes;
  static_cast<void>(TEMP_FAILURE_RETRY(pwrite(memory.get(), &counts, sizeof counts, kAt)));
}

void FetchChannel::CountCache(const Descriptor& memory, uint64_t FetchCounts::*result) {
  constexpr uint64_t kAt = kMemory + kMaxNote;
  FetchCounts counts = ReadCounts(memory);
  ++(counts.*result);
  static_cast<void>(TEMP_FAILURE_RETRY(pwrite(memory.get(), &counts, sizeof counts, kAt)));
}

std::byte* FetchChannel::Map(const Descriptor& memory) {
  void* const at = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

bool Send(const Descriptor& socket, const FetchRequest& request, bool waits) {
  const RequestHead head = {.version = 0,
                            .kind = static_cast<uint32_t>(request.kind),
                            .id = request.id,
                            .generation = request.generation,
                            .offset = request.range.offset,
                            .range = request.range.length,
                            .at = request.at,
                            .length = request.length,
                            .size = request.size,
                            .modified_ns = request.modified_ns,
                            .max_keys = request.max_keys,
                            .from_end = request.range.from_end ? 1U : 0U,
                            .is_conditional = request.is_conditional ? 1U : 0U,
                            .first = 0,
                            .second = 0,
                            .store = request.store};
  return SendMessage(socket, head, request.key, request.condition, waits);
}

bool Send(const Descriptor& socket, const FetchAnswer& answer, bool waits) {
  const AnswerHead head = {.version = 0,
                           .error = answer.error ? 1 + static_cast<uint32_t>(*answer.error) : 0,
                           .id = answer.id,
                           .generation = answer.generation,
                           .size = answer.size,
                           .offset = answer.offset,
                           .length = answer.length,
                           .modified_ns = answer.modified_ns,
                           .first = 0,
                           .second = 0};
  return SendMessage(socket, head, answer.etag,
                     std::string_view(answer.message).substr(0, kMaxMessageText), waits);
}

std::optional<FetchRequest> ReceiveRequest(const Descriptor& socket, bool waits) {
  while (auto received = ReceiveMessage<RequestHead>(socket, waits)) {
    const RequestHead& head = received->head;
    if (head.kind > static_cast<uint32_t>(FetchRequest::Kind::kList) || head.id == 0) continue;
    return FetchRequest{.kind = static_cast<FetchRequest::Kind>(head.kind),
                        .id = head.id,
                        .generation = head.generation,
                        .store = head.store,
                        .range = {head.offset, head.range, head.from_end != 0},
                        .at = head.at,
                        .length = head.length,
                        .is_conditional = head.is_conditional != 0,
                        .modified_ns = head.modified_ns,
                        .size = head.size,
                        .max_keys = head.max_keys,
                        .key = std::move(received->first),
                        .condition = std::move(received->second)};
  }
  return std::nullopt;
}

std::optional<FetchAnswer> ReceiveAnswer(const Descriptor& socket, bool waits) {
  while (auto received = ReceiveMessage<AnswerHead>(socket, waits)) {
    const AnswerHead& head = received->head;
    if (head.error > 1 + static_cast<uint32_t>(ErrorCode::kZarrfsMount)) continue;
    FetchAnswer answer{.id = head.id,
                       .generation = head.generation,
                       .size = head.size,
                       .modified_ns = head.modified_ns,
                       .offset = head.offset,
                       .length = head.length,
                       .etag = std::move(received->first),
                       .message = std::move(received->second)};
    if (head.error != 0) answer.error = static_cast<ErrorCode>(head.error - 1);
    return answer;
  }
  return std::nullopt;
}

}  // namespace zarrfs
