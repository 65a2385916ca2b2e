// The waiting rooms run requests that must wait for a store, off the threads that serve the kernel.
//
// Each request is answered exactly once: by its handler, or as soon as the kernel interrupts it
// (Ctrl-C), whichever is first; a late answer is dropped. Names and data have separate rooms, so
// that slow reads do not delay lookups. Handlers run on up to WaitingThreads() threads of each
// room; when all of them wait, further requests queue, and can still be interrupted.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace zarrfs {

inline constexpr size_t kLeastWaitingThreads = 64;

/// Number of threads of each room for a store with this number of connections (0: not behind a
/// network).
[[nodiscard]] size_t WaitingThreads(size_t connections);
/// Defaults to kLeastWaitingThreads.
void SetWaitingThreads(size_t most);

/// What happens to a request that takes long. Both are called on any thread.
struct Attendance {
  /// Answers it at once after an interruption.
  std::function<void(fuse_req_t)> on_interrupted;
  /// Logs that it has had no answer for this long, or is still running although nobody waits.
  std::function<void(std::chrono::seconds)> on_long;
};

/// Shared by a request's handler and its interruption; lives as long as the handler runs.
struct Ticket {
  std::atomic<bool> answered{false};
  Attendance attendance;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  bool is_told_of = false;  // logged by TellOfLong()
  /// True for exactly one caller, which must reply; for all others the request is gone.
  bool Claim() { return !answered.exchange(true); }
};

/// Makes a ticket for a request that an interruption may claim from now on, and then have
/// `attendance` answer.
[[nodiscard]] std::shared_ptr<Ticket> MakeInterruptible(fuse_req_t request, Attendance attendance);

/// Logs each request that has had a ticket for `time`, once, even if nobody waits for it any more.
void TellOfLong(std::chrono::seconds time);

/// The requests that have a ticket and no answer yet, and the age of the oldest ticket.
struct Unanswered {
  size_t count = 0;
  std::chrono::steady_clock::duration oldest{};
};
[[nodiscard]] Unanswered UnansweredTickets();

enum class WaitingFor { kNames, kData };

using WaitingHandler = std::function<void(const std::shared_ptr<Ticket>&)>;

/// Queues `handler` for a thread that may wait. If the request is interrupted before, or memory
/// runs out, `on_interrupted` of its ticket answers instead.
void AnswerFromWaitingRoom(fuse_req_t request, WaitingFor what, WaitingHandler handler,
                           const std::shared_ptr<Ticket>& ticket) noexcept;

}  // namespace zarrfs
