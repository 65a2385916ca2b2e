// LateWorker: decides when to kill, and when to abandon, a worker that should have ended but is
// stopped or hangs. A worker should end once it was asked to, or once its connection to the kernel
// has ended.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

namespace zarrfs {

class LateWorker {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long a worker may take to end, and how long it may take to be reaped after SIGKILL.
  static constexpr auto kLimit = std::chrono::seconds(3);
  static constexpr auto kReapLimit = std::chrono::seconds(2);

  enum class Step {
    kNone,
    kKill,         // kill the worker; returned once
    kLeaveBehind,  // abandon the worker, because it cannot end
  };
  /// Returns what to do about a worker that is slow to end. `is_to_end` is true if a worker exists
  /// and should end; the worker's time limit starts at the first call with true.
  [[nodiscard]] Step Observe(bool is_to_end, Clock::time_point now) {
    if (!is_to_end) {
      *this = {};
      return Step::kNone;
    }
    if (!since_) since_ = now;
    const auto time = now - *since_;
    if (time < kLimit) return Step::kNone;
    if (time > kLimit + kReapLimit) return Step::kLeaveBehind;
    return std::exchange(is_killed_, true) ? Step::kNone : Step::kKill;
  }
  /// The time until Observe() will return kKill; nullopt if no worker should end, or if the worker
  /// was already killed.
  [[nodiscard]] std::optional<Clock::duration> left(Clock::time_point now) const {
    if (!since_ || is_killed_) return std::nullopt;
    return *since_ + kLimit - now;
  }

 private:
  std::optional<Clock::time_point> since_;
  bool is_killed_ = false;
};

}  // namespace zarrfs
