// RunningRequest: a request that the thread that took it answers itself, without the waiting room.
//
// Stores that answer fast may hang, too: a disk that fails, or that everybody writes to. What has
// been running for a tenth of a second or more can be interrupted from then on, and is answered at
// once, as in the waiting room; the late answer is dropped. Until then it costs a request next to
// nothing: a thread of its own finds out, half a second after the request began at the latest.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "fs/fuse/waiting_room.h"

namespace zarrfs {

class RunningRequest {
 public:
  /// `on_interrupted`, a void(fuse_req_t), may be copied and called on any thread, also later than
  /// this object lives. At most one object a thread.
  template <typename OnInterrupted>
  RunningRequest(fuse_req_t request, const OnInterrupted& on_interrupted) : place_(ThisThread()) {
    place_.request = request;
    place_.on_interrupted = &on_interrupted;
    place_.copy = [](const void* function) -> std::function<void(fuse_req_t)> {
      return *static_cast<const OnInterrupted*>(function);
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

  /// Starts the thread that finds those that run for long. To be called once.
  static void StartWatching();

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
    const void* on_interrupted = nullptr;
    std::function<void(fuse_req_t)> (*copy)(const void*) = nullptr;
    std::shared_ptr<Ticket> ticket;  // kWatched
    uint64_t count_before = 0;       // the watching thread's: at its last round
  };

  struct Places;

  static Places& ThePlaces();
  static Place& ThisThread();
  // True if any request ran since the last round.
  static bool WatchOnce();

  Place& place_;
};

}  // namespace zarrfs
