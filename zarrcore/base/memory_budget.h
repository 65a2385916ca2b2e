// MemoryBudget: the one bound on the memory of a process that decodes bytes from others.
//
// Caches, returned values and running decodes all hold Shares of it. A request takes all the memory
// it needs at once, before allocating. Take() first has the caches evict. If that is not enough it
// does not wait but fails with kWouldBlock, so no thread ever waits for memory while holding some.
// The request then releases everything, waits for its turn in order of arrival (Alone), and is
// repeated while no other request decodes:
//
//              Take() succeeds
//   Work ───────────────────────────▶ done
//     │  kWouldBlock: release everything                       ▲
//     └──────────▶ Alone: wait until no Work holds any ────────┘  or kTooLarge, kNoMemory
//
// Takes of kSmallPart of the budget are never refused because others wait, nor waited for: metadata
// and indexes can be read while a large chunk is decoded.
//
// Every member may be called from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

#include "zarrcore/base/result.h"

namespace zarrfs {

class MemoryBudget {
 public:
  /// How much a request that runs alone may take beyond the budget: an incompressible chunk of 2
  /// GiB is decoded within 4 GiB.
  static constexpr uint64_t kSlack = 16u << 20;
  /// A take of up to this fraction (one in N) of the budget is small.
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
    /// Returns the excess over `bytes`.
    void ShrinkTo(uint64_t bytes) noexcept;
    /// Takes over another share of the same budget.
    void Add(Share&& other) noexcept;

   private:
    friend MemoryBudget;
    Share(MemoryBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}

    MemoryBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  /// `limit`: bytes; unlimited by default.
  explicit MemoryBudget(uint64_t limit = UINT64_MAX) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// Takes all memory of an operation: input, output and working memory, except `held` bytes that
  /// the caller already has for it. kTooLarge if it can never fit. kWouldBlock if there is no room
  /// now: release everything and repeat the request Alone. kNoMemory if there is no room although
  /// the request is alone.
  [[nodiscard]] Result<Share> Take(uint64_t bytes, uint64_t held = 0);

  /// Evicts down to the new limit immediately.
  void SetLimit(uint64_t limit);
  [[nodiscard]] uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t used() const { return used_.load(std::memory_order_relaxed); }

  /// While it lives, the current thread works on one request. Locks only if the request takes
  /// memory. Does not nest.
  class Work {
   public:
    explicit Work(MemoryBudget& budget);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    friend MemoryBudget;
    MemoryBudget& budget_;
    bool is_counted_ = false;  // in working_
  };

  /// Waits, in order of arrival, until no other request holds memory; while it lives, others can
  /// take only small parts. The current thread must hold no memory.
  class Alone {
   public:
    /// Stops waiting soon after `is_given_up` returns true.
    Alone(MemoryBudget& budget, const std::function<bool()>& is_given_up);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    /// False if the wait was abandoned.
    [[nodiscard]] bool granted() const { return granted_; }

   private:
    MemoryBudget& budget_;
    bool granted_ = false;
  };

  /// While it lives, `give_up` is called when memory is short, with the number of missing bytes, in
  /// the order in which holders were made. It is called on any thread and must take no memory.
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
  // Limit of freed small pieces that may stay with the allocator.
  static constexpr uint64_t kTrimmedAtOnce = 64u << 20;

  bool Add(uint64_t bytes, uint64_t limit);
  // Makes the allocator return freed memory to the system, if that may be much.
  void Trim();
  // Counts the current request among those that hold memory; false if a request waits to be alone.
  bool Enter();
  // Makes holders evict until `bytes` more fit.
  void MakeRoom(uint64_t bytes);

  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> given_back_ = 0;  // since the last Trim() that had an effect

  std::mutex mutex_;                // guards the next three
  std::condition_variable turned_;  // queue_ or working_ has changed
  std::deque<const Alone*> queue_;  // the first one is alone once nobody works
  size_t working_ = 0;              // requests that hold memory

  std::mutex holders_mutex_;  // guards the next; never held together with mutex_
  std::list<std::function<void(uint64_t)>> holders_;
};

/// The budget of this process: unlimited by default.
[[nodiscard]] MemoryBudget& ProcessMemory();

}  // namespace zarrfs
