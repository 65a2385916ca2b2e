#include "fs/fuse/running_request.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace zarrfs {
namespace {

// Pause between rounds of the watching thread; the second applies while nothing runs.
constexpr std::chrono::milliseconds kRound{100};
constexpr std::chrono::milliseconds kIdleRound{400};

}  // namespace

struct RunningRequest::Places {
  std::mutex mutex;
  std::vector<Place*> all;
};

RunningRequest::Places& RunningRequest::ThePlaces() {
  static Places& places = *new Places;
  return places;
}

RunningRequest::Place& RunningRequest::ThisThread() {
  // libfuse's threads live as long as the process.
  thread_local Place& place = [&]() -> Place& {
    Places& places = ThePlaces();
    const std::lock_guard lock(places.mutex);
    return *places.all.emplace_back(new Place);
  }();
  return place;
}

bool RunningRequest::Claim() {
  const std::shared_ptr<Ticket> ticket = HandOver();
  return ticket == nullptr || ticket->Claim();
}

std::shared_ptr<Ticket> RunningRequest::HandOver() {
  for (;;) {
    State expected = State::kRunning;
    if (place_.state.compare_exchange_strong(expected, State::kIdle, std::memory_order_acq_rel)) {
      return nullptr;
    }
    if (expected == State::kWatched) break;
    std::this_thread::yield();  // kAdmitting
  }
  std::shared_ptr<Ticket> ticket = std::move(place_.ticket);
  place_.state.store(State::kIdle, std::memory_order_relaxed);
  return ticket;
}

size_t RunningRequest::CountWithoutTicket() {
  Places& places = ThePlaces();
  const std::lock_guard lock(places.mutex);
  return static_cast<size_t>(std::ranges::count_if(places.all, [](const Place* place) {
    const State state = place->state.load(std::memory_order_relaxed);
    return state == State::kRunning || state == State::kAdmitting;
  }));
}

bool RunningRequest::WatchOnce() {
  Places& places = ThePlaces();
  bool any = false;
  const std::lock_guard lock(places.mutex);
  for (Place* const place : places.all) {
    const uint64_t count = place->count.load(std::memory_order_relaxed);
    const bool is_new = std::exchange(place->count_before, count) != count;
    any |= is_new;
    State expected = State::kRunning;
    if (is_new || !place->state.compare_exchange_strong(expected, State::kAdmitting,
                                                        std::memory_order_acq_rel)) {
      continue;
    }
    // It may be another request by now, which then gets its ticket early.
    State state = State::kWatched;
    try {
      place->ticket = MakeInterruptible(place->request, place->attend(place->attending));
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
        TellOfLong(long_time);
      } catch (const std::bad_alloc&) {
        // The next round logs it.
      }
    }
  }).detach();
}

}  // namespace zarrfs
