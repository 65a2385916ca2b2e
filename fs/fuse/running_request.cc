#include "fs/fuse/running_request.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "zarrcore/base/mutex.h"

namespace zarrfs {
namespace {

// How long the watching thread sleeps between its checks of all threads: usually, and after a check
// that found no new request.
constexpr std::chrono::milliseconds kRound{100};
constexpr std::chrono::milliseconds kIdleRound{400};

}  // namespace

struct RunningRequest::Places {
  Mutex mutex;
  std::vector<Place*> all GUARDED_BY(mutex);
};

RunningRequest::Places& RunningRequest::ThePlaces() {
  static Places& places = *new Places;
  return places;
}

RunningRequest::Place& RunningRequest::ThisThread() {
  // Never freed, because libfuse's threads live until the process ends.
  thread_local Place& place = [&]() -> Place& {
    Places& places = ThePlaces();
    const MutexLock lock(places.mutex);
    return *places.all.emplace_back(new Place);
  }();
  return place;
}

bool RunningRequest::Claim() {
  const std::shared_ptr<PendingRequest> pending = HandOver();
  return pending == nullptr || pending->Claim();
}

std::shared_ptr<PendingRequest> RunningRequest::HandOver() {
  for (;;) {
    State expected = State::kRunning;
    if (place_.state.compare_exchange_strong(expected, State::kIdle, std::memory_order_acq_rel)) {
      return nullptr;
    }
    if (expected == State::kWatched) break;
    std::this_thread::yield();  // the watching thread is making a PendingRequest
  }
  std::shared_ptr<PendingRequest> pending = std::move(place_.pending);
  place_.state.store(State::kIdle, std::memory_order_relaxed);
  return pending;
}

size_t RunningRequest::CountNotPending() {
  Places& places = ThePlaces();
  const MutexLock lock(places.mutex);
  return static_cast<size_t>(std::ranges::count_if(places.all, [](const Place* place) {
    const State state = place->state.load(std::memory_order_relaxed);
    return state == State::kRunning || state == State::kAdmitting;
  }));
}

bool RunningRequest::WatchOnce() {
  Places& places = ThePlaces();
  bool any = false;
  const MutexLock lock(places.mutex);
  for (Place* const place : places.all) {
    const uint64_t count = place->count.load(std::memory_order_relaxed);
    const bool is_new = std::exchange(place->count_before, count) != count;
    any |= is_new;
    State expected = State::kRunning;
    if (is_new || !place->state.compare_exchange_strong(expected, State::kAdmitting,
                                                        std::memory_order_acq_rel)) {
      continue;
    }
    // The thread may have begun another request since the check, which then gets its PendingRequest
    // early.
    State state = State::kWatched;
    try {
      place->pending = MakeInterruptible(place->request, place->make_callbacks(place->owner));
    } catch (const std::bad_alloc&) {
      state = State::kRunning;
    }
    place->state.store(state, std::memory_order_release);
  }
  return any;
}

void RunningRequest::StartWatching(std::chrono::seconds long_time) {
  std::thread([long_time] {
    for (;;) {
      std::this_thread::sleep_for(WatchOnce() ? kRound : kIdleRound);
      try {
        LogLongRequests(long_time);
      } catch (const std::bad_alloc&) {
        // Memory has run out. The next check logs the slow requests.
      }
    }
  }).detach();
}

}  // namespace zarrfs
