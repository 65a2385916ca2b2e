#include "zarrcore/base/memory_budget.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace zarrfs {
namespace {

// The interval at which an exclusive request (Alone) checks, while it waits, whether it was
// abandoned.
constexpr std::chrono::milliseconds kLook{50};
// How long Take() retries in an exclusive request (Alone), until small requests and values in use
// release enough memory.
constexpr int kMaxWaitMs = 1000;

struct OfThread {
  MemoryBudget::Work* work = nullptr;
  const MemoryBudget* alone_in = nullptr;
};
thread_local OfThread of_thread;

}  // namespace

MemoryBudget& ProcessMemory() {
  // Never destroyed, because caches that are never destroyed hold shares of the budget.
  static MemoryBudget& memory = *new MemoryBudget;
  return memory;
}

void MemoryBudget::Share::ShrinkTo(uint64_t bytes) noexcept {
  if (bytes >= bytes_) return;
  budget_->used_ -= bytes_ - bytes;
  budget_->given_back_ += bytes_ - bytes;
  bytes_ = bytes;
}

void MemoryBudget::Share::Add(Share&& other) noexcept {
  if (budget_ == nullptr) budget_ = other.budget_;
  bytes_ += std::exchange(other.bytes_, 0);
}

bool MemoryBudget::Add(uint64_t bytes, uint64_t limit) {
  uint64_t used = used_;
  do {
    if (bytes > limit || used > limit - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

Result<MemoryBudget::Share> MemoryBudget::Take(uint64_t bytes, uint64_t held) {
  Trim();
  const uint64_t limit = this->limit();
  const uint64_t most = limit < UINT64_MAX - kSlack ? limit + kSlack : limit;
  const bool is_alone = of_thread.alone_in == this;
  if (bytes > most - std::min(most, held)) {
    return Fail(ErrorCode::kTooLarge, "needs {} bytes of memory, more than memory={} allows",
                bytes + held, limit);
  }
  const auto no_room = [&] {
    return Fail(ErrorCode::kWouldBlock, "{} bytes of memory are not available", bytes);
  };
  if (!is_alone && bytes > limit / kSmallPart && !Enter()) return no_room();
  const uint64_t allowed = is_alone ? most : limit;
  if (Add(bytes, allowed)) return Share(this, bytes);
  for (int waited_ms = 0;; ++waited_ms) {
    MakeRoom(bytes);
    if (Add(bytes, allowed)) return Share(this, bytes);
    if (!is_alone) return no_room();
    if (waited_ms == kMaxWaitMs) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Fail(ErrorCode::kNoMemory, "needs {} bytes of memory; of memory={}, {} are in use", bytes,
              limit, used());
}

void MemoryBudget::Trim() {
  if (given_back_.load(std::memory_order_relaxed) < kTrimmedAtOnce) return;
  given_back_ = 0;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

bool MemoryBudget::Enter() {
  Work* const work = of_thread.work;
  // This request is counted in working_ already. It may take more memory, because exclusive
  // requests wait until it ends.
  if (work != nullptr && work->is_counted_) return true;
  const MutexLock lock(mutex_);
  if (!queue_.empty()) return false;
  if (work != nullptr && &work->budget_ == this) {
    ++working_;
    work->is_counted_ = true;
  }
  return true;
}

void MemoryBudget::MakeRoom(uint64_t bytes) {
  const MutexLock lock(holders_mutex_);
  const uint64_t limit = this->limit();
  const uint64_t room = limit - std::min(limit, bytes);
  const uint64_t before = used_;
  for (const auto& give_up : holders_) {
    const uint64_t used = used_;
    if (used <= room) break;
    give_up(used - room);
  }
#ifdef __GLIBC__
  // malloc keeps small freed blocks for reuse. Return them to the system.
  if (used_ < before) malloc_trim(0);
#endif
}

void MemoryBudget::SetLimit(uint64_t limit) {
  limit_ = limit;
  MakeRoom(0);
}

MemoryBudget::Work::Work(MemoryBudget& budget) : budget_(budget) { of_thread.work = this; }

MemoryBudget::Work::~Work() {
  of_thread.work = nullptr;
  if (!is_counted_) return;
  const MutexLock lock(budget_.mutex_);
  --budget_.working_;
  budget_.turned_.notify_all();
}

MemoryBudget::Alone::Alone(MemoryBudget& budget, const std::function<bool()>& is_abandoned)
    : budget_(budget) {
  MutexLock lock(budget_.mutex_);
  budget_.queue_.push_back(this);
  const auto is_turn = [&]() REQUIRES(budget_.mutex_) {
    return budget_.queue_.front() == this && budget_.working_ == 0;
  };
  while (!is_turn()) {
    if (is_abandoned()) return;
    budget_.turned_.wait_for(lock, kLook);
  }
  granted_ = true;
  of_thread.alone_in = &budget_;
}

MemoryBudget::Alone::~Alone() {
  if (granted_) of_thread.alone_in = nullptr;
  const MutexLock lock(budget_.mutex_);
  std::erase(budget_.queue_, this);
  budget_.turned_.notify_all();
}

MemoryBudget::Holder::Holder(MemoryBudget& budget, std::function<void(uint64_t)> give_up)
    : budget_(budget) {
  const MutexLock lock(budget_.holders_mutex_);
  at_ = budget_.holders_.insert(budget_.holders_.end(), std::move(give_up));
}

MemoryBudget::Holder::~Holder() {
  const MutexLock lock(budget_.holders_mutex_);
  budget_.holders_.erase(at_);
}

}  // namespace zarrfs
