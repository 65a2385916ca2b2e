// MemoryBudget: limits the memory of a process that decodes untrusted bytes.
//
// Caches, returned values and running decodes hold Shares of the budget. An operation takes all the
// memory that it needs with a single Take(), before allocating. If the budget is exhausted, Take()
// makes the caches evict. If that does not free enough, Take() fails with kWouldBlock instead of
// waiting, so no thread waits for memory while it holds some. The request then releases everything
// and is retried in exclusive mode (Alone): it waits, in order of arrival, until no other request
// holds memory, and runs again:
//
//              Take() succeeds
//   Work ───────────────────────────▶ done
//     │  kWouldBlock: release everything                       ▲
//     └──────────▶ Alone: wait until no Work holds any ────────┘  or kTooLarge, kNoMemory
//
// Small requests, of up to 1/kSmallPart of the budget, do not wait for an exclusive request, and an
// exclusive request does not wait for small requests. So metadata and indexes can be read while a
// large chunk is decoded.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <utility>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

class MemoryBudget {
 public:
  /// The number of bytes by which an exclusive request may exceed the budget, so an incompressible
  /// chunk of 2 GiB can be decoded with a budget of 4 GiB.
  static constexpr uint64_t kSlack = 16u << 20;
  /// Requests of up to 1/kSmallPart of the budget count as small.
  static constexpr uint64_t kSmallPart = 256;

  /// Bytes taken from the budget; the destructor returns them.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      if (this != &other) {
        ShrinkTo(0);
        budget_ = std::exchange(other.budget_, nullptr);
        bytes_ = std::exchange(other.bytes_, 0);
      }
      return *this;
    }
    ~Share() { ShrinkTo(0); }

    [[nodiscard]] uint64_t bytes() const { return bytes_; }
    /// Shrinks the share to `bytes` bytes, and returns the excess to the budget.
    void ShrinkTo(uint64_t bytes) noexcept;
    /// Takes over the bytes of another share of the same budget.
    void Add(Share&& other) noexcept;

   private:
    friend MemoryBudget;
    Share(MemoryBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}

    MemoryBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  /// `limit` is in bytes; unlimited by default.
  explicit MemoryBudget(uint64_t limit = UINT64_MAX) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// Takes the memory for an operation from the budget: input, output and working memory, except
  /// `held` bytes that the caller already holds for the operation. Fails with kTooLarge if the
  /// operation can never fit. Fails with kWouldBlock if it does not fit now; the caller must then
  /// release everything and retry the request in exclusive mode (see Alone). Fails with kNoMemory
  /// if the operation does not fit even in exclusive mode.
  [[nodiscard]] Result<Share> Take(uint64_t bytes, uint64_t held = 0);

  /// Sets the limit in bytes, and makes the caches evict down to the new limit immediately.
  void SetLimit(uint64_t limit);
  [[nodiscard]] uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t used() const { return used_.load(std::memory_order_relaxed); }

  /// A scope in which the current thread works on one request. Takes a lock only if the request
  /// takes more than a small amount of memory. Does not nest.
  class Work {
   public:
    explicit Work(MemoryBudget& budget);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    friend MemoryBudget;
    MemoryBudget& budget_;
    bool is_counted_ = false;  // true if this request is counted in working_
  };

  /// Exclusive mode: a scope in which the current thread may use the whole budget. The constructor
  /// waits, in order of arrival, until no other running request has taken more than a small amount.
  /// During the lifetime of this object, other requests can take only small amounts. The current
  /// thread must hold no memory when the scope begins.
  class Alone {
   public:
    /// Stops waiting soon after `is_abandoned` returns true; granted() is then false.
    Alone(MemoryBudget& budget, const std::function<bool()>& is_abandoned);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    /// False if the wait was abandoned.
    [[nodiscard]] bool granted() const { return granted_; }

   private:
    MemoryBudget& budget_;
    bool granted_ = false;
  };

  /// Registers `give_up`, a callback that evicts memory, for the lifetime of this object. If memory
  /// is short, any thread may call `give_up` with the number of missing bytes. Callbacks run in the
  /// order in which Holders were constructed, and must not take memory from the budget.
  class Holder {
   public:
    Holder(MemoryBudget& budget, std::function<void(uint64_t missing)> give_up);
    ~Holder();
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    MemoryBudget& budget_;
    std::list<std::function<void(uint64_t)>>::iterator at_;
  };

 private:
  // Trim() does nothing until this many bytes were freed, which the allocator may keep for reuse.
  static constexpr uint64_t kTrimmedAtOnce = 64u << 20;

  bool Add(uint64_t bytes, uint64_t limit);
  // Makes the allocator return freed memory to the system, if at least kTrimmedAtOnce bytes were
  // freed since the last time.
  void Trim();
  // Counts the current request in working_, unless it is already counted. Returns false, without
  // counting it, if an exclusive request waits or runs.
  bool Enter();
  // Calls the eviction callbacks (see Holder) until `bytes` more fit into the budget.
  void MakeRoom(uint64_t bytes);

  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> given_back_ = 0;  // bytes returned to the budget since Trim() last trimmed

  Mutex mutex_;
  CondVar turned_;  // notified when queue_ or working_ changes
  // The waiting and running exclusive requests, in order of arrival. The first may run once
  // working_ is 0.
  std::deque<const Alone*> queue_ GUARDED_BY(mutex_);
  // The number of running requests that have taken more than a small amount.
  size_t working_ GUARDED_BY(mutex_) = 0;

  Mutex holders_mutex_;  // never held together with mutex_
  std::list<std::function<void(uint64_t)>> holders_ GUARDED_BY(holders_mutex_);
};

/// The budget of this process; unlimited until SetLimit() is called.
[[nodiscard]] MemoryBudget& ProcessMemory();

}  // namespace zarrfs
