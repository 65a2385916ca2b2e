// RunningRequest: a request that the thread that took it answers itself, without the waiting room.
//
// Stores that answer fast may hang, too: a disk that fails, or that everybody writes to. What has
// been running for a tenth of a second or more can be interrupted from then on, and is answered at
// once, as in the waiting room; the late answer is dropped. Until then it costs a request next to
// nothing: a thread of its own finds out, half a second after the request began at the latest.
// The same thread tells of the requests that take very long, those in waiting rooms among them.
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
  /// object a thread.
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

  /// To be called once. True if this thread must reply; else the request is gone.
  [[nodiscard]] bool Claim();
  /// To be called instead, where the request is to be answered elsewhere: the ticket that it has by
  /// now; null if nobody else knows of it.
  [[nodiscard]] std::shared_ptr<Ticket> HandOver();

  /// How many requests run now, excluding those that have a ticket.
  [[nodiscard]] static size_t CountWithoutTicket();

  /// What takes longer is told of.
  static constexpr std::chrono::seconds kLong{10};
  /// Starts the thread that finds those that run for long. To be called once.
  static void StartWatching(std::chrono::seconds long_time = kLong);

 private:
  enum class State : uint8_t {
    kIdle,
    kRunning,    // the thread may reply as soon as it claims it
    kAdmitting,  // the watching thread makes a ticket: soon kWatched
    kWatched     // who claims the ticket replies
  };
  // Of one thread, as long as the process lives.
  struct Place {
    std::atomic<State> state = State::kIdle;
    std::atomic<uint64_t> count = 0;  // of requests until now
    fuse_req_t request = nullptr;
    const void* attending = nullptr;
    Attendance (*attend)(const void*) = nullptr;
    std::shared_ptr<Ticket> ticket;  // kWatched
    uint64_t count_before = 0;       // the watching thread's: at its last round
  };

  struct Places;

  static Places& ThePlaces();
  static Place& ThisThread();
  // For the thread itself, while its request runs.
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
