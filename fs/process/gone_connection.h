// GoneConnection: what to do with a worker that lives on after its connection to the kernel has
// ended. A worker whose mount was unmounted ends by itself, unless it is stopped or hangs.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

namespace zarrfs {

class GoneConnection {
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
  /// `is_gone`: a worker is there without a connection.
  [[nodiscard]] Step Observe(bool is_gone, Clock::time_point now) {
    if (!is_gone) {
      *this = {};
      return Step::kNone;
    }
    if (!since_) since_ = now;
    const auto time = now - *since_;
    if (time < kLimit) return Step::kNone;
    if (time > kLimit + kReapLimit) return Step::kLeaveBehind;
    return std::exchange(is_killed_, true) ? Step::kNone : Step::kKill;
  }

 private:
  std::optional<Clock::time_point> since_;
  bool is_killed_ = false;
};

}  // namespace zarrfs
