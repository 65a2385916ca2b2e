#include "fs/fuse/waiting_room.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

namespace zarrfs {
namespace {

constexpr size_t kMaxThreads = 64;
constexpr std::chrono::seconds kIdle{10};

struct Waiting {
  uintptr_t number;
  std::shared_ptr<Ticket> ticket;
  WaitingHandler handler;
};

// Lives as long as the process: threads that wait for a dead server cannot be joined.
struct Room {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Waiting> queue;
  size_t threads = 0;
  size_t idle = 0;
  // The kernel side holds a number, never a pointer, so that an interruption that comes late finds
  // nothing instead of something freed.
  std::unordered_map<uintptr_t, std::shared_ptr<Ticket>> tickets;
  uintptr_t next_number = 1;
};

Room& TheRoom() {
  static Room& room = *new Room;
  return room;
}

// Set while this thread registers an interruption; libfuse calls back at once if there was one.
thread_local bool registering = false;
thread_local bool interrupted_already = false;

void AnswerInterrupted(fuse_req_t request, Ticket& ticket) {
  if (ticket.Claim()) ticket.on_interrupted(request);
}

void OnInterrupt(fuse_req_t request, void* data) {
  std::shared_ptr<Ticket> ticket;
  {
    Room& room = TheRoom();
    const std::lock_guard lock(room.mutex);
    const auto found = room.tickets.find(reinterpret_cast<uintptr_t>(data));
    if (found == room.tickets.end()) return;
    ticket = found->second;
  }
  // While fuse_req_interrupt_func itself calls, the request must not be freed:
  // AnswerFromWaitingRoom answers then.
  if (registering) {
    interrupted_already = true;
    return;
  }
  AnswerInterrupted(request, *ticket);
}

void Work() {
  Room& room = TheRoom();
  std::unique_lock lock(room.mutex);
  while (true) {
    ++room.idle;
    const bool woken = room.arrived.wait_for(lock, kIdle, [&] { return !room.queue.empty(); });
    --room.idle;
    if (!woken) break;
    Waiting waiting = std::move(room.queue.front());
    room.queue.pop_front();
    lock.unlock();
    if (!waiting.ticket->answered.load()) waiting.handler(waiting.ticket);
    const uintptr_t number = waiting.number;
    waiting = {};
    lock.lock();
    room.tickets.erase(number);
  }
  --room.threads;
}

}  // namespace

void AnswerFromWaitingRoom(fuse_req_t request, WaitingHandler handler,
                           std::function<void(fuse_req_t)> on_interrupted) {
  Room& room = TheRoom();
  auto ticket = std::make_shared<Ticket>();
  ticket->on_interrupted = std::move(on_interrupted);
  uintptr_t number;
  {
    const std::lock_guard lock(room.mutex);
    number = room.next_number++;
    room.tickets.emplace(number, ticket);
  }
  registering = true;
  interrupted_already = false;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that libfuse hands back
  fuse_req_interrupt_func(request, &OnInterrupt, reinterpret_cast<void*>(number));
  registering = false;
  // From here on another thread may have answered: `request` belongs to who claims the ticket.
  if (interrupted_already) AnswerInterrupted(request, *ticket);

  const std::lock_guard lock(room.mutex);
  room.queue.push_back(Waiting{number, std::move(ticket), std::move(handler)});
  if (room.idle < room.queue.size() && room.threads < kMaxThreads) {
    try {
      std::thread(Work).detach();
      ++room.threads;
    } catch (const std::system_error&) {
      // No more threads are to be had: those there are take it, or the next request tries again.
    }
  }
  room.arrived.notify_one();
}

}  // namespace zarrfs
