// The waiting rooms run requests that must wait for a store, off the threads that serve the kernel.
//
// Each request is answered exactly once: by its handler, or as soon as the kernel interrupts it
// (Ctrl-C), whichever is first; a late answer is dropped. There is a room for names and one for
// data, so that slow reads do not hold up look-ups. Handlers run on up to WaitingThreads()
// threads of the room's own; when all wait, further requests queue, and can still be interrupted.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace zarrfs {

inline constexpr size_t kLeastWaitingThreads = 64;

/// Threads of each room for a store that takes so many requests at once (0: not behind a network).
[[nodiscard]] size_t WaitingThreads(size_t connections);
/// kLeastWaitingThreads by default.
void SetWaitingThreads(size_t most);

/// What becomes of a request that takes long. Both are called on any thread.
struct Attendance {
  /// Answers it, at once, where it was interrupted.
  std::function<void(fuse_req_t)> on_interrupted;
  /// Tells that it has had no answer for so long, or is still worked on for nobody.
  std::function<void(std::chrono::seconds)> on_long;
};

/// Shared by a request's handler and its interruption; lives for as long as it is worked on.
struct Ticket {
  std::atomic<bool> answered{false};
  Attendance attendance;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  bool is_told_of = false;  // TellOfLong()'s
  /// True for exactly one caller, which must reply; the request is gone for everybody else.
  bool Claim() { return !answered.exchange(true); }
};

/// A ticket for a request that somebody else may claim from now on: whoever interrupts it, who then
/// has `attendance` answer.
[[nodiscard]] std::shared_ptr<Ticket> MakeInterruptible(fuse_req_t request, Attendance attendance);

/// Tells of each request that has had a ticket for `time`, once; whether somebody still waits for
/// it or not.
void TellOfLong(std::chrono::seconds time);

/// The requests that have a ticket and no answer yet, and how long the oldest has had one.
struct Unanswered {
  size_t count = 0;
  std::chrono::steady_clock::duration oldest{};
};
[[nodiscard]] Unanswered UnansweredTickets();

enum class WaitingFor { kNames, kData };

using WaitingHandler = std::function<void(const std::shared_ptr<Ticket>&)>;

/// Runs `handler` some time on a thread that may wait. Who claims the ticket answers instead: if
/// the request is interrupted before, or memory runs out, its `on_interrupted`.
void AnswerFromWaitingRoom(fuse_req_t request, WaitingFor what, WaitingHandler handler,
                           const std::shared_ptr<Ticket>& ticket) noexcept;

}  // namespace zarrfs
