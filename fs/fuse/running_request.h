// RunningRequest: a request that is answered on the thread that received it, instead of in a
// waiting room (waiting_room.h).
//
// Stores that usually answer fast may also hang, on a failing or overloaded disk. A request that
// has run for a tenth of a second or longer becomes interruptible, as in a waiting room: an
// interruption is answered immediately, and the late answer is dropped. Shorter requests cost next
// to nothing: a watching thread finds long ones within half a second. The same thread logs requests
// that take very long, including those in waiting rooms.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fs/fuse/waiting_room.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {

class RunningRequest {
 public:
  /// `owner` must be able to make RequestCallbacks on any thread during the lifetime of this
  /// object. A thread can have at most one such object.
  template <typename Owner>
  RunningRequest(fuse_req_t request, const Owner& owner)
      : place_(ThisThread()), abandoned_([&place = place_] { return IsAnswered(place); }) {
    place_.request = request;
    place_.owner = &owner;
    place_.make_callbacks = [](const void* self) -> RequestCallbacks {
      return static_cast<const Owner*>(self)->Callbacks();
    };
    place_.count.fetch_add(1, std::memory_order_relaxed);
    place_.state.store(State::kRunning, std::memory_order_release);
  }
  RunningRequest(const RunningRequest&) = delete;
  RunningRequest& operator=(const RunningRequest&) = delete;

  /// True if this thread must reply. If false, another thread has replied, and the request no
  /// longer exists. Call once.
  [[nodiscard]] bool Claim();
  /// Call instead of Claim() if the request will be answered elsewhere. Returns the PendingRequest
  /// of the request; null if the watching thread has not made one.
  [[nodiscard]] std::shared_ptr<PendingRequest> HandOver();

  /// The number of requests that run now, excluding those with a PendingRequest.
  [[nodiscard]] static size_t CountNotPending();

  /// Requests slower than this are logged.
  static constexpr std::chrono::seconds kLong{10};
  /// Starts the thread that watches for slow requests. Call once.
  static void StartWatching(std::chrono::seconds long_time = kLong);

 private:
  enum class State : uint8_t {
    kIdle,
    kRunning,    // the thread may reply after it has claimed the request
    kAdmitting,  // the watching thread is making a PendingRequest; kWatched follows
    kWatched     // the thread that claims the PendingRequest must reply
  };
  // The state of one thread, kept until the process ends.
  struct Place {
    std::atomic<State> state = State::kIdle;
    std::atomic<uint64_t> count = 0;  // the number of requests so far
    fuse_req_t request = nullptr;
    const void* owner = nullptr;
    RequestCallbacks (*make_callbacks)(const void*) = nullptr;
    std::shared_ptr<PendingRequest> pending;  // set in the state kWatched
    uint64_t count_before = 0;                // `count` when the watching thread last checked
  };

  struct Places;

  static Places& ThePlaces();
  static Place& ThisThread();
  // True if another thread has answered the request of the thread that owns `place`. Called by the
  // owner, while its request runs.
  static bool IsAnswered(const Place& place) {
    return place.state.load(std::memory_order_acquire) == State::kWatched &&
           place.pending->answered.load();
  }
  // Makes the requests interruptible that were already running at the previous call. True if any
  // request has begun since that call.
  static bool WatchOnce();

  Place& place_;
  const AbandonedIf abandoned_;
};

}  // namespace zarrfs
