// Counters<kCount>: a set of counters for frequent increments by many threads and rare reads.
//
// Each thread adds to cache lines that it shares with few other threads, with relaxed atomics, so
// an increment costs a few nanoseconds regardless of the number of threads; Sum() adds up all
// lines. No count is lost when a thread exits, or when there are more threads than lines. Sums of
// several counters, read one after the other, are not a consistent snapshot.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace zarrfs {

namespace internal {
/// Returns the number of the calling thread. Threads are numbered 0, 1, 2, … in the order of their
/// first calls.
inline size_t ThreadNumber() {
  static std::atomic<size_t> next{0};
  thread_local const size_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}
}  // namespace internal

template <size_t kCount>
class Counters {
 public:
  Counters() : lines_(std::make_unique<std::array<Lines, kThreads>>()) {}

  /// Adds `amount` to a counter; `counter` must be below kCount. Thread-safe.
  void Add(size_t counter, uint64_t amount = 1) {
    (*lines_)[internal::ThreadNumber() % kThreads].values[counter].fetch_add(
        amount, std::memory_order_relaxed);
  }

  /// Returns the total of a counter over all threads. Thread-safe.
  [[nodiscard]] uint64_t Sum(size_t counter) const {
    uint64_t sum = 0;
    for (const Lines& lines : *lines_) {
      sum += lines.values[counter].load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  static constexpr size_t kThreads = 64;
  struct alignas(64) Lines {
    std::array<std::atomic<uint64_t>, kCount> values{};
  };
  const std::unique_ptr<std::array<Lines, kThreads>> lines_;
};

}  // namespace zarrfs
