#include "fs/fuse/waiting_room.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

constexpr std::chrono::seconds kIdle{10};

struct Waiting {
  fuse_req_t request;
  std::shared_ptr<PendingRequest> pending;
  WaitingHandler handler;
};

// Rooms are never destroyed, because threads that wait for a dead server cannot be joined.
struct Room {
  Mutex mutex;
  CondVar arrived;
  std::deque<Waiting> queue GUARDED_BY(mutex);
  size_t threads GUARDED_BY(mutex) = 0;
  size_t idle GUARDED_BY(mutex) = 0;
  size_t most_threads GUARDED_BY(mutex) = kMinWaitingThreads;
};

Room& RoomFor(WaitingFor what) {
  static Room& names = *new Room;
  static Room& data = *new Room;
  return what == WaitingFor::kData ? data : names;
}

// libfuse gets the number of a PendingRequest instead of a pointer, so a late interruption finds
// nothing instead of freed memory.
struct PendingRequests {
  Mutex mutex;
  std::unordered_map<uintptr_t, std::weak_ptr<PendingRequest>> by_number GUARDED_BY(mutex);
  uintptr_t next_number GUARDED_BY(mutex) = 1;
};

PendingRequests& ThePendingRequests() {
  static PendingRequests& requests = *new PendingRequests;
  return requests;
}

// Makes a new PendingRequest and its number. The number is removed with the last reference to the
// PendingRequest.
std::pair<std::shared_ptr<PendingRequest>, uintptr_t> NewPendingRequest(
    RequestCallbacks callbacks) {
  PendingRequests& requests = ThePendingRequests();
  std::shared_ptr<PendingRequest> pending;  // must be released after unlocking
  const MutexLock lock(requests.mutex);
  const uintptr_t number = requests.next_number++;
  pending.reset(new PendingRequest{.callbacks = std::move(callbacks)},
                [number](PendingRequest* last) {
                  delete last;
                  PendingRequests& all = ThePendingRequests();
                  const MutexLock erasing(all.mutex);
                  all.by_number.erase(number);
                });
  requests.by_number.emplace(number, pending);
  return {std::move(pending), number};
}

// True while this thread registers an interruption handler. If the request was already interrupted,
// libfuse calls OnInterrupt() immediately.
thread_local bool registering = false;
thread_local bool interrupted_already = false;

void AnswerInterrupted(fuse_req_t request, PendingRequest& pending) {
  if (pending.Claim()) pending.callbacks.on_interrupted(request);
}

void OnInterrupt(fuse_req_t request, void* data) {
  std::shared_ptr<PendingRequest> pending;
  {
    PendingRequests& requests = ThePendingRequests();
    const MutexLock lock(requests.mutex);
    const auto found = requests.by_number.find(reinterpret_cast<uintptr_t>(data));
    if (found != requests.by_number.end()) pending = found->second.lock();
  }
  if (pending == nullptr) return;
  // While `registering`, the caller is fuse_req_interrupt_func(), during which the request must not
  // be freed. MakeInterruptible() answers afterwards.
  if (registering) {
    interrupted_already = true;
    return;
  }
  AnswerInterrupted(request, *pending);
}

void Work(Room& room) {
  MutexLock lock(room.mutex);
  while (true) {
    ++room.idle;
    const bool woken = room.arrived.wait_for(
        lock, kIdle, [&]() REQUIRES(room.mutex) { return !room.queue.empty(); });
    --room.idle;
    if (!woken) break;
    Waiting waiting = std::move(room.queue.front());
    room.queue.pop_front();
    lock.unlock();
    try {
      const std::atomic<bool>& answered = waiting.pending->answered;
      const AbandonedIf scope([&answered] { return answered.load(); });
      if (!answered.load()) waiting.handler(waiting.pending);
    } catch (const std::bad_alloc&) {
      AnswerInterrupted(waiting.request, *waiting.pending);
    }
    waiting = {};
    lock.lock();
  }
  --room.threads;
}

}  // namespace

size_t WaitingThreads(size_t connections) { return std::max(kMinWaitingThreads, connections); }

void SetWaitingThreads(size_t most) {
  for (Room* const room : {&RoomFor(WaitingFor::kNames), &RoomFor(WaitingFor::kData)}) {
    const MutexLock lock(room->mutex);
    room->most_threads = most;
  }
}

std::shared_ptr<PendingRequest> MakeInterruptible(fuse_req_t request, RequestCallbacks callbacks) {
  const auto [pending, number] = NewPendingRequest(std::move(callbacks));
  registering = true;
  interrupted_already = false;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that libfuse passes to OnInterrupt()
  fuse_req_interrupt_func(request, &OnInterrupt, reinterpret_cast<void*>(number));
  registering = false;
  // Another thread may already have answered, so only the thread that claims the PendingRequest may
  // use `request`.
  if (interrupted_already) AnswerInterrupted(request, *pending);
  return pending;
}

void LogLongRequests(std::chrono::seconds time) {
  const auto before = std::chrono::steady_clock::now() - time;
  std::vector<std::shared_ptr<PendingRequest>> all;  // must be released after unlocking
  {
    PendingRequests& requests = ThePendingRequests();
    const MutexLock lock(requests.mutex);
    all.reserve(requests.by_number.size());
    for (const auto& [number, pending] : requests.by_number) all.push_back(pending.lock());
  }
  for (const auto& pending : all) {
    if (pending == nullptr || pending->is_logged || pending->since > before) continue;
    pending->is_logged = true;
    pending->callbacks.on_long(time);
  }
}

Unanswered UnansweredRequests() {
  Unanswered unanswered;
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<PendingRequest>> all;  // must be released after unlocking
  PendingRequests& requests = ThePendingRequests();
  const MutexLock lock(requests.mutex);
  for (const auto& [number, weak] : requests.by_number) {
    all.push_back(weak.lock());
    if (all.back() == nullptr || all.back()->answered.load()) continue;
    ++unanswered.count;
    unanswered.oldest = std::max(unanswered.oldest, now - all.back()->since);
  }
  return unanswered;
}

void AnswerFromWaitingRoom(fuse_req_t request, WaitingFor what, WaitingHandler handler,
                           const std::shared_ptr<PendingRequest>& pending) noexcept {
  Room& room = RoomFor(what);
  const MutexLock lock(room.mutex);
  try {
    room.queue.push_back(Waiting{request, pending, std::move(handler)});
  } catch (const std::bad_alloc&) {
    return AnswerInterrupted(request, *pending);
  }
  if (room.idle < room.queue.size() && room.threads < room.most_threads) {
    try {
      std::thread([&room] { Work(room); }).detach();
      ++room.threads;
    } catch (const std::exception&) {
      // No more threads can be started. An existing thread runs the request, or the next request
      // starts a thread.
    }
  }
  room.arrived.notify_one();
}

}  // namespace zarrfs
