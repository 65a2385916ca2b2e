// LateWorker: when to kill, and when to give up, a worker that should end but is stopped or hangs:
// it was asked to end, or its connection to the kernel has ended.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

namespace zarrfs {

class LateWorker {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long the worker may live on, and how long after that a killed one may take.
  static constexpr auto kLimit = std::chrono::seconds(3);
  static constexpr auto kReapLimit = std::chrono::seconds(2);

  enum class Step {
    kNone,
    kKill,         // once
    kLeaveBehind,  // it cannot end
  };
  /// `is_to_end`: there is a worker, and it should end. The time begins with the first such call.
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
  /// Until kKill; nullopt if there is nothing to wait for.
  [[nodiscard]] std::optional<Clock::duration> left(Clock::time_point now) const {
    if (!since_ || is_killed_) return std::nullopt;
    return *since_ + kLimit - now;
  }

 private:
  std::optional<Clock::time_point> since_;
  bool is_killed_ = false;
};

}  // namespace zarrfs
