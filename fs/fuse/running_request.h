// RunningRequest: a request that is answered on the thread that received it, without the waiting
// room.
//
// Stores that answer fast may hang, too, on a failing or overloaded disk. A request that has run
// for a tenth of a second or longer becomes interruptible, as in the waiting room: it is answered
// at once, and the late answer is dropped. Before that it costs next to nothing: a watching thread
// detects it within half a second. The same thread logs requests that take very long, including
// those in waiting rooms.
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
  /// `attending` can make an Attendance, on any thread, as long as this object lives. At most one
  /// object per thread.
  template <typename Attending>
  RunningRequest(fuse_req_t request, const Attending& attending)
      : place_(ThisThread()), given_up_([&place = place_] { return IsAnswered(place); }) {
    place_.request = request;
    place_.attending = &attending;
    place_.attend = [](const void* self) -> Attendance {
      return static_cast<const Attending*>(self)->Attend();
    };
    place_.count.fetch_add(1, std::memory_order_relaxed);
    place_.state.store(State::kRunning, std::memory_order_release);
  }
  RunningRequest(const RunningRequest&) = delete;
  RunningRequest& operator=(const RunningRequest&) = delete;

  /// Call once. True if this thread must reply; otherwise the request is gone.
  [[nodiscard]] bool Claim();
  /// Call instead of Claim() if the request will be answered elsewhere. Returns its ticket; null if
  /// no other thread knows of the request.
  [[nodiscard]] std::shared_ptr<Ticket> HandOver();

  /// Number of requests running now, excluding those with a ticket.
  [[nodiscard]] static size_t CountWithoutTicket();

  /// Requests slower than this are logged.
  static constexpr std::chrono::seconds kLong{10};
  /// Starts the thread that watches for slow requests. Call once.
  static void StartWatching(std::chrono::seconds long_time = kLong);

 private:
  enum class State : uint8_t {
    kIdle,
    kRunning,    // the thread may reply once it has claimed it
    kAdmitting,  // the watching thread makes a ticket: soon kWatched
    kWatched     // the thread that claims the ticket replies
  };
  // State of one thread, kept until the process ends.
  struct Place {
    std::atomic<State> state = State::kIdle;
    std::atomic<uint64_t> count = 0;  // of requests so far
    fuse_req_t request = nullptr;
    const void* attending = nullptr;
    Attendance (*attend)(const void*) = nullptr;
    std::shared_ptr<Ticket> ticket;  // kWatched
    uint64_t count_before = 0;       // the watching thread's: count at its last round
  };

  struct Places;

  static Places& ThePlaces();
  static Place& ThisThread();
  // Called by the thread itself, while its request runs.
  static bool IsAnswered(const Place& place) {
    return place.state.load(std::memory_order_acquire) == State::kWatched &&
           place.ticket->answered.load();
  }
  // True if any request ran since the last round.
  static bool WatchOnce();

  Place& place_;
  const GivenUpIf given_up_;
};

}  // namespace zarrfs
