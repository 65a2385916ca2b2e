// MemoryBudget: the one bound on the memory of a process that decodes what others have written.
//
// Caches, values handed out and decodes under way all hold Shares of it. Who needs memory takes all
// of it at once, before allocating. Take() first has the caches give way; where that is not enough
// it never waits but fails with kWouldBlock, and so no thread ever waits for memory while it holds
// some. The request then lets go of everything, waits for its turn (Alone), first come, first
// served, and is repeated while no other request decodes:
//
//              Take() succeeds
//   Work ───────────────────────────▶ done
//     │  kWouldBlock: let go of all                            ▲
//     └──────────▶ Alone: wait until no Work holds any ────────┘  or kTooLarge, kNoMemory
//
// Takes of kSmallPart of the budget are neither refused while others wait nor waited for: metadata
// and indexes go on being read while a large chunk is decoded.
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
  /// What a request that runs alone may take beyond the budget: a chunk of 2 GiB that does not
  /// compress is decoded within 4 GiB.
  static constexpr uint64_t kSlack = 16u << 20;
  /// One such part of the budget is little.
  static constexpr uint64_t kSmallPart = 256;

  /// Bytes taken, given back when it is destroyed.
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
    /// Gives back what is more than `bytes`.
    void ShrinkTo(uint64_t bytes) noexcept;
    /// Takes over another share of the same budget.
    void Add(Share&& other) noexcept;

   private:
    friend MemoryBudget;
    Share(MemoryBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}

    MemoryBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  /// `limit`: bytes; by default as many as there are.
  explicit MemoryBudget(uint64_t limit = UINT64_MAX) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// All that something needs, input, output and what is beside them, but for `held` bytes that the
  /// caller has for it already. kTooLarge if it can never fit. kWouldBlock if there is no room now:
  /// let go of everything and repeat the request Alone. kNoMemory if there is none though the
  /// request is alone.
  [[nodiscard]] Result<Share> Take(uint64_t bytes, uint64_t held = 0);

  /// Has the caches give up at once what is too much.
  void SetLimit(uint64_t limit);
  [[nodiscard]] uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t used() const { return used_.load(std::memory_order_relaxed); }

  /// While it lives, the current thread works on one request. (Takes no lock unless that request
  /// takes memory.) Not to be nested.
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

  /// Waits, in order of arrival, until no other request holds memory; while it lives, none takes
  /// more than a little. The current thread must hold nothing.
  class Alone {
   public:
    /// Stops waiting soon after `is_given_up` returns true.
    Alone(MemoryBudget& budget, const std::function<bool()>& is_given_up);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    /// False if it was given up.
    [[nodiscard]] bool granted() const { return granted_; }

   private:
    MemoryBudget& budget_;
    bool granted_ = false;
  };

  /// While it lives, `give_up` is called where memory is short, in the order in which holders were
  /// made, with the bytes that are missing. It is called on any thread and must take no memory.
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
  // So much of small pieces that were freed may stay with the allocator.
  static constexpr uint64_t kTrimmedAtOnce = 64u << 20;

  bool Add(uint64_t bytes, uint64_t limit);
  // Has the allocator give back what was freed, if that may be much.
  void Trim();
  // Counts the current request among those that hold memory; false if somebody waits to be alone.
  bool Enter();
  // Has holders give up until `bytes` more fit.
  void MakeRoom(uint64_t bytes);

  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> given_back_ = 0;  // since Trim() did anything

  std::mutex mutex_;                // guards the next three
  std::condition_variable turned_;  // queue_ or working_ has changed
  std::deque<const Alone*> queue_;  // the first one is alone once nobody works
  size_t working_ = 0;              // requests that hold memory

  std::mutex holders_mutex_;  // guards the next; never held together with mutex_
  std::list<std::function<void(uint64_t)>> holders_;
};

/// The budget of this process: without a limit unless somebody sets one.
[[nodiscard]] MemoryBudget& ProcessMemory();

}  // namespace zarrfs
