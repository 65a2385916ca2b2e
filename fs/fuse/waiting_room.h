// The waiting rooms run requests that must wait for a store, on threads that receive no requests.
//
// Each request is answered exactly once: by its handler, or immediately when the kernel interrupts
// it (Ctrl-C). A late answer is dropped. Names and data have separate rooms, so slow reads do not
// delay lookups. Each room runs handlers on up to WaitingThreads() threads. If all of them are
// busy, new requests wait in a queue, where they can still be interrupted.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace zarrfs {

inline constexpr size_t kMinWaitingThreads = 64;

/// The maximum number of threads of each room. `connections` is 0 for a store that is not behind a
/// network.
[[nodiscard]] size_t WaitingThreads(size_t connections);
/// Sets the maximum number of threads of each room; the default is kMinWaitingThreads.
void SetWaitingThreads(size_t most);

/// Callbacks for a request that takes long. Both may be called on any thread.
struct RequestCallbacks {
  /// Answers the request immediately when it is interrupted.
  std::function<void(fuse_req_t)> on_interrupted;
  /// Logs that the request has not been answered for the given time, or that its handler is still
  /// running although it was answered.
  std::function<void(std::chrono::seconds)> on_long;
};

/// The state shared by the handler of a request and its interruption. Exists until the handler has
/// returned.
struct PendingRequest {
  std::atomic<bool> answered{false};
  RequestCallbacks callbacks;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  bool is_logged = false;  // true if LogLongRequests() has logged the request
  /// Returns true to exactly one caller, which must reply; no other caller may use the request
  /// afterwards.
  bool Claim() { return !answered.exchange(true); }
};

/// Makes a PendingRequest. From then on, an interruption may claim the request and answer it with
/// `callbacks`.
[[nodiscard]] std::shared_ptr<PendingRequest> MakeInterruptible(fuse_req_t request,
                                                                RequestCallbacks callbacks);

/// Logs each request whose PendingRequest has existed for `time`, even if the request was answered.
/// Logs no request twice.
void LogLongRequests(std::chrono::seconds time);

/// The number of requests that have a PendingRequest but no answer yet, and the age of the oldest.
struct Unanswered {
  size_t count = 0;
  std::chrono::steady_clock::duration oldest{};
};
[[nodiscard]] Unanswered UnansweredRequests();

enum class WaitingFor { kNames, kData };

using WaitingHandler = std::function<void(const std::shared_ptr<PendingRequest>&)>;

/// Queues `handler` for a thread that may wait. If the request is interrupted before the handler
/// runs, or memory runs out, `on_interrupted` of its PendingRequest answers instead.
void AnswerFromWaitingRoom(fuse_req_t request, WaitingFor what, WaitingHandler handler,
                           const std::shared_ptr<PendingRequest>& pending) noexcept;

}  // namespace zarrfs
