#include "zarrcore/net/fetch_client.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "zarrcore/base/mutex.h"
#include "zarrcore/net/fetch_channel.h"

namespace zarrfs {
namespace {

// The alignment of pieces of the shared memory, in bytes.
constexpr uint64_t kUnit = 4096;
// Freed pieces larger than kKept return their pages to the kernel. The first kForNames bytes of the
// shared memory are reserved for listings and for requests that name no version.
constexpr uint64_t kKept = 256u << 10;
constexpr uint64_t kForNames = 8u << 20;
// How long a request waits to be sent while no server runs.
constexpr auto kMaxSend = std::chrono::seconds(5);
// Maximum size of the XML of a listing page: kPageBytes, and kKeyBytes for each key.
constexpr uint64_t kPageBytes = 16u << 10;
constexpr uint64_t kKeyBytes = 4096;

// Returns `code` if a store may return it; otherwise kIo, because callers would take any other code
// for an error of this process.
ErrorCode CodeOfStore(ErrorCode code) {
  constexpr std::array<ErrorCode, 8> kCodes = {
      ErrorCode::kNotFound, ErrorCode::kDamaged,     ErrorCode::kPermissionDenied,
      ErrorCode::kStale,    ErrorCode::kTimedOut,    ErrorCode::kInvalidArgument,
      ErrorCode::kTooLarge, ErrorCode::kUnsupported,
  };
  return std::ranges::find(kCodes, code) != kCodes.end() ? code : ErrorCode::kIo;
}

// The allocated pieces of the shared memory. Not thread-safe.
class Pieces {
 public:
  // Allocates a piece at or after the offset `from` and returns its offset. nullopt if no free
  // range is long enough.
  std::optional<uint64_t> Take(uint64_t length, uint64_t from) {
    length = RoundUp(length);
    uint64_t at = from;
    for (const auto& [begin, size] : taken_) {
      if (begin + size <= at) continue;
      if (begin >= at && begin - at >= length) break;
      at = begin + size;
    }
    if (FetchChannel::kMemory - at < length) return std::nullopt;
    taken_.emplace(at, length);
    return at;
  }
  // Frees a piece. Returns its length.
  uint64_t GiveBack(uint64_t at) {
    const auto piece = taken_.find(at);
    const uint64_t length = piece->second;
    taken_.erase(piece);
    return length;
  }

 private:
  static uint64_t RoundUp(uint64_t length) {
    return std::max((length + kUnit - 1) / kUnit, uint64_t{1}) * kUnit;
  }
  std::map<uint64_t, uint64_t> taken_;  // the length of each piece, by its offset
};

// The client's end of a FetchChannel.
class Connection final : public FetchClient, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Descriptor socket, std::byte* memory, std::chrono::milliseconds timeout,
             std::function<void(std::string_view)> on_notice)
      : socket_(std::move(socket)),
        memory_(memory),
        timeout_(timeout),
        on_notice_(std::move(on_notice)) {
    // Starts with a random id, so answers to an earlier client are not mistaken for answers to this
    // client.
    if (getrandom(&last_id_, sizeof last_id_, 0) != sizeof last_id_) last_id_ = 1;
    last_id_ >>= 1;
  }

  Result<void> Begin();
  std::shared_ptr<const Fetcher> FetcherOf(uint32_t store) const override;

  // Allocates a piece, sends the request, waits for the answer, passes it and its bytes to `use`,
  // and frees the piece.
  Result<void> Ask(FetchRequest request,
                   const std::function<void(const FetchAnswer&, const std::byte*)>& use) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Call {
    FetchRequest request;
    std::optional<FetchAnswer> answer = {};
    bool given_up = false;
  };
  using Calls = std::map<uint64_t, Call>;

  void GiveBack(uint64_t at) const REQUIRES(mutex_);
  void Receive() const;
  void OnAnswer(FetchAnswer answer) const;
  void SendTo(const FetchRequest& request) const;
  // Sends all unanswered requests to a new server, after the previous server has ended.
  void OnNewServer(uint64_t generation) const;

  const Descriptor socket_;
  std::byte* const memory_;
  const std::chrono::milliseconds timeout_;
  const std::function<void(std::string_view)> on_notice_;
  mutable Mutex mutex_;
  mutable CondVar answered_;    // an answer has arrived, or the channel is closed
  mutable CondVar given_back_;  // a piece was freed
  mutable Pieces pieces_ GUARDED_BY(mutex_);
  mutable Calls calls_ GUARDED_BY(mutex_);
  mutable uint64_t last_id_ GUARDED_BY(mutex_) = 0;
  mutable uint64_t generation_ = 0;  // the generation of the current server
  mutable bool is_over_ = false;
};

Result<void> Connection::Begin() {
  const timeval limit = {kMaxSend.count(), 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  std::thread([self = shared_from_this()] { self->Receive(); }).detach();
  return Ask({.kind = FetchRequest::Kind::kHello}, [](const auto&, const auto*) {});
}

// Sends a request. If that fails, the request gets an error as its answer, because its piece would
// otherwise never be freed. The request gets no error if OnNewServer() has sent it again in the
// meantime.
void Connection::SendTo(const FetchRequest& request) const {
  if (Send(socket_, request)) return;
  const bool is_too_long = errno == EMSGSIZE;
  const MutexLock lock(mutex_);
  const auto call = calls_.find(request.id);
  if (call == calls_.end() || call->second.answer ||
      call->second.request.generation != request.generation) {
    return;
  }
  if (call->second.given_up) {
    GiveBack(call->second.request.at);
    calls_.erase(call);
    return;
  }
  call->second.answer =
      FetchAnswer{.id = request.id,
                  .error = is_too_long ? ErrorCode::kInvalidArgument : ErrorCode::kTimedOut,
                  .message = is_too_long ? fmt::format("a key of {} bytes", request.key.size())
                                         : request.key + ": the fetch process accepts no requests"};
  answered_.notify_all();
}

void Connection::GiveBack(uint64_t at) const {
  const uint64_t length = pieces_.GiveBack(at);
  if (length > kKept) madvise(memory_ + at, length, MADV_REMOVE);
  given_back_.notify_all();
}

Result<void> Connection::Ask(
    FetchRequest request,
    const std::function<void(const FetchAnswer&, const std::byte*)>& use) const {
  const auto deadline = Clock::now() + timeout_;
  const auto too_late = [&] {
    return Fail(ErrorCode::kTimedOut, "{}: the fetch process did not answer within {} s",
                request.key, std::chrono::duration_cast<std::chrono::seconds>(timeout_).count());
  };
  // Requests for the data of a known version leave the first kForNames bytes to listings and
  // documents. Two listing pages, or many documents, fit into these bytes.
  const uint64_t from = request.is_conditional ? kForNames : 0;
  MutexLock lock(mutex_);
  std::optional<uint64_t> piece;
  while (!(piece = pieces_.Take(request.length, from))) {
    if (given_back_.wait_until(lock, deadline) == std::cv_status::timeout) return too_late();
  }
  request.at = *piece;
  request.id = ++last_id_;
  request.generation = generation_;
  const auto call = calls_.emplace(request.id, Call{request}).first;
  lock.unlock();
  SendTo(request);
  lock.lock();
  if (!answered_.wait_until(lock, deadline, [&] { return call->second.answer || is_over_; }) ||
      !call->second.answer) {
    // The piece stays allocated until the server has answered, because the server may still write
    // to it.
    call->second.given_up = true;
    return too_late();
  }
  const FetchAnswer answer = std::move(*call->second.answer);
  calls_.erase(call);
  lock.unlock();
  if (!answer.error) use(answer, memory_ + *piece);
  lock.lock();
  GiveBack(*piece);
  if (answer.error) return Fail(CodeOfStore(*answer.error), "{}", answer.message);
  return {};
}

void Connection::OnAnswer(FetchAnswer answer) const {
  const MutexLock lock(mutex_);
  const auto call = calls_.find(answer.id);
  if (call == calls_.end() || call->second.answer) return;
  if (call->second.request.kind == FetchRequest::Kind::kHello) generation_ = answer.generation;
  if (call->second.given_up) {
    GiveBack(call->second.request.at);
    calls_.erase(call);
    return;
  }
  // An answer's length must not exceed the piece. Other invalid values in an answer are harmless.
  answer.length = std::min(answer.length, call->second.request.length);
  call->second.answer = std::move(answer);
  answered_.notify_all();
}

void Connection::OnNewServer(uint64_t generation) const {
  MutexLock lock(mutex_);
  generation_ = generation;
  std::vector<FetchRequest> requests;
  for (auto call = calls_.begin(); call != calls_.end();) {
    const auto next = std::next(call);
    if (call->second.given_up) {
      GiveBack(call->second.request.at);
      calls_.erase(call);
    } else if (!call->second.answer) {
      call->second.request.generation = generation;
      requests.push_back(call->second.request);
    }
    call = next;
  }
  lock.unlock();
  for (const FetchRequest& request : requests) SendTo(request);
}

void Connection::Receive() const {
  while (auto answer = ReceiveAnswer(socket_, /*waits=*/true)) {
    if (answer->id != 0) {
      OnAnswer(*std::move(answer));
    } else if (answer->message.empty()) {
      OnNewServer(answer->generation);
    } else if (on_notice_) {
      on_notice_(answer->message);
    }
  }
  const MutexLock lock(mutex_);
  is_over_ = true;
  answered_.notify_all();
}

// The Fetcher for one of the server's stores.
class FetcherOfStore final : public Fetcher {
 public:
  FetcherOfStore(std::shared_ptr<const Connection> connection, uint32_t store)
      : connection_(std::move(connection)), store_(store) {}

  Result<Fetched> Get(std::string_view key, ByteRange range, const Version* only,
                      std::span<std::byte> out) const override;
  Result<std::string> ListPage(std::string_view folder, std::string_view continuation,
                               uint32_t max_keys) const override;

 private:
  const std::shared_ptr<const Connection> connection_;
  const uint32_t store_;
};

std::shared_ptr<const Fetcher> Connection::FetcherOf(uint32_t store) const {
  return std::make_shared<FetcherOfStore>(shared_from_this(), store);
}

Result<Fetched> FetcherOfStore::Get(std::string_view key, ByteRange range, const Version* only,
                                    std::span<std::byte> out) const {
  FetchRequest request{.kind = FetchRequest::Kind::kGet,
                       .store = store_,
                       .range = range,
                       .length = std::min(out.size(), kMaxFetchBytes),
                       .key = std::string(key)};
  request.range.length = std::min<uint64_t>(range.length, request.length);
  if (only != nullptr) {
    request.is_conditional = true;
    request.condition = only->etag;
    request.modified_ns = only->mtime_ns;
    request.size = only->size;
  }
  Fetched fetched;
  const auto asked =
      connection_->Ask(std::move(request), [&](const FetchAnswer& answer, const std::byte* from) {
        fetched.version.size = answer.size;
        fetched.version.mtime_ns = fetched.version.ctime_ns = answer.modified_ns;
        fetched.version.etag = answer.etag;
        fetched.offset = answer.offset;
        fetched.length = static_cast<size_t>(answer.length);
        std::copy_n(from, fetched.length, out.begin());
      });
  if (!asked) return Fail(asked);
  return fetched;
}

Result<std::string> FetcherOfStore::ListPage(std::string_view folder, std::string_view continuation,
                                             uint32_t max_keys) const {
  FetchRequest request{.kind = FetchRequest::Kind::kList,
                       .store = store_,
                       .length = std::min(kMaxListBytes, kPageBytes + max_keys * kKeyBytes),
                       .max_keys = max_keys,
                       .key = std::string(folder),
                       .condition = std::string(continuation)};
  std::string page;
  const auto asked =
      connection_->Ask(std::move(request), [&](const FetchAnswer& answer, const std::byte* from) {
        page.assign(reinterpret_cast<const char*>(from), static_cast<size_t>(answer.length));
      });
  if (!asked) return Fail(asked);
  return page;
}

}  // namespace

Result<std::shared_ptr<const FetchClient>> OpenFetchClient(
    Descriptor socket, const Descriptor& memory, std::chrono::milliseconds timeout,
    std::function<void(std::string_view)> on_notice) {
  std::byte* const mapped = FetchChannel::Map(memory);
  if (mapped == nullptr) {
    return Fail(FromErrno(errno), "cannot map the memory of the fetch process: {}",
                ErrnoText(errno));
  }
  auto client =
      std::make_shared<Connection>(std::move(socket), mapped, timeout, std::move(on_notice));
  if (auto begun = client->Begin(); !begun) return Fail(begun);
  return client;
}

}  // namespace zarrfs
