#include "fs/fuse/waiting_room.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

constexpr std::chrono::seconds kIdle{10};

struct Waiting {
  fuse_req_t request;
  std::shared_ptr<Ticket> ticket;
  WaitingHandler handler;
};

// Rooms live as long as the process: threads that wait for a dead server cannot be joined.
struct Room {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Waiting> queue;
  size_t threads = 0;
  size_t idle = 0;
  size_t most_threads = kLeastWaitingThreads;
};

Room& RoomFor(WaitingFor what) {
  static Room& names = *new Room;
  static Room& data = *new Room;
  return what == WaitingFor::kData ? data : names;
}

// libfuse holds a number, never a pointer, so a late interruption finds nothing rather than freed
// memory.
struct Tickets {
  std::mutex mutex;
  std::unordered_map<uintptr_t, std::weak_ptr<Ticket>> by_number;
  uintptr_t next_number = 1;
};

Tickets& TheTickets() {
  static Tickets& tickets = *new Tickets;
  return tickets;
}

// A new ticket and its number, which is removed with the last reference.
std::pair<std::shared_ptr<Ticket>, uintptr_t> NewTicket(Attendance attendance) {
  Tickets& tickets = TheTickets();
  std::shared_ptr<Ticket> ticket;  // must be released after unlocking
  const std::lock_guard lock(tickets.mutex);
  const uintptr_t number = tickets.next_number++;
  ticket.reset(new Ticket{.attendance = std::move(attendance)}, [number](Ticket* last) {
    delete last;
    Tickets& all = TheTickets();
    const std::lock_guard erasing(all.mutex);
    all.by_number.erase(number);
  });
  tickets.by_number.emplace(number, ticket);
  return {std::move(ticket), number};
}

// Set while this thread registers an interruption; libfuse calls back at once if it already
// happened.
thread_local bool registering = false;
thread_local bool interrupted_already = false;

void AnswerInterrupted(fuse_req_t request, Ticket& ticket) {
  if (ticket.Claim()) ticket.attendance.on_interrupted(request);
}

void OnInterrupt(fuse_req_t request, void* data) {
  std::shared_ptr<Ticket> ticket;
  {
    Tickets& tickets = TheTickets();
    const std::lock_guard lock(tickets.mutex);
    const auto found = tickets.by_number.find(reinterpret_cast<uintptr_t>(data));
    if (found != tickets.by_number.end()) ticket = found->second.lock();
  }
  if (ticket == nullptr) return;
  // The request must not be freed while fuse_req_interrupt_func itself calls: MakeInterruptible
  // answers then.
  if (registering) {
    interrupted_already = true;
    return;
  }
  AnswerInterrupted(request, *ticket);
}

void Work(Room& room) {
  std::unique_lock lock(room.mutex);
  while (true) {
    ++room.idle;
    const bool woken = room.arrived.wait_for(lock, kIdle, [&] { return !room.queue.empty(); });
    --room.idle;
    if (!woken) break;
    Waiting waiting = std::move(room.queue.front());
    room.queue.pop_front();
    lock.unlock();
    try {
      const std::atomic<bool>& answered = waiting.ticket->answered;
      const GivenUpIf scope([&answered] { return answered.load(); });
      if (!answered.load()) waiting.handler(waiting.ticket);
    } catch (const std::bad_alloc&) {
      AnswerInterrupted(waiting.request, *waiting.ticket);
    }
    waiting = {};
    lock.lock();
  }
  --room.threads;
}

}  // namespace

size_t WaitingThreads(size_t connections) { return std::max(kLeastWaitingThreads, connections); }

void SetWaitingThreads(size_t most) {
  for (Room* const room : {&RoomFor(WaitingFor::kNames), &RoomFor(WaitingFor::kData)}) {
    const std::lock_guard lock(room->mutex);
    room->most_threads = most;
  }
}

std::shared_ptr<Ticket> MakeInterruptible(fuse_req_t request, Attendance attendance) {
  const auto [ticket, number] = NewTicket(std::move(attendance));
  registering = true;
  interrupted_already = false;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that libfuse hands back
  fuse_req_interrupt_func(request, &OnInterrupt, reinterpret_cast<void*>(number));
  registering = false;
  // From here on another thread may have answered: `request` belongs to the claimer of the ticket.
  if (interrupted_already) AnswerInterrupted(request, *ticket);
  return ticket;
}

void TellOfLong(std::chrono::seconds time) {
  const auto before = std::chrono::steady_clock::now() - time;
  std::vector<std::shared_ptr<Ticket>> all;  // must be released after unlocking
  {
    Tickets& tickets = TheTickets();
    const std::lock_guard lock(tickets.mutex);
    all.reserve(tickets.by_number.size());
    for (const auto& [number, ticket] : tickets.by_number) all.push_back(ticket.lock());
  }
  for (const auto& ticket : all) {
    if (ticket == nullptr || ticket->is_told_of || ticket->since > before) continue;
    ticket->is_told_of = true;
    ticket->attendance.on_long(time);
  }
}

Unanswered UnansweredTickets() {
  Unanswered unanswered;
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<Ticket>> all;  // must be released after unlocking
  Tickets& tickets = TheTickets();
  const std::lock_guard lock(tickets.mutex);
  for (const auto& [number, weak] : tickets.by_number) {
    all.push_back(weak.lock());
    if (all.back() == nullptr || all.back()->answered.load()) continue;
    ++unanswered.count;
    unanswered.oldest = std::max(unanswered.oldest, now - all.back()->since);
  }
  return unanswered;
}

void AnswerFromWaitingRoom(fuse_req_t request, WaitingFor what, WaitingHandler handler,
                           const std::shared_ptr<Ticket>& ticket) noexcept {
  Room& room = RoomFor(what);
  const std::lock_guard lock(room.mutex);
  try {
    room.queue.push_back(Waiting{request, ticket, std::move(handler)});
  } catch (const std::bad_alloc&) {
    return AnswerInterrupted(request, *ticket);
  }
  if (room.idle < room.queue.size() && room.threads < room.most_threads) {
    try {
      std::thread([&room] { Work(room); }).detach();
      ++room.threads;
    } catch (const std::exception&) {
      // No more threads can be started: the existing ones take the request, or the next one tries
      // again.
    }
  }
  room.arrived.notify_one();
}

}  // namespace zarrfs
