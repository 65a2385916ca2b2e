// Credit: limits speculative requests, such as prefetches.
//
// A speculative request spends credit, and each use of its result earns the credit back. So credit
// runs out only if results stay unused. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace zarrfs {

class Credit {
 public:
  /// Starts with `most`, the maximum credit.
  explicit Credit(int64_t most) : most_(most), now_(most) {}

  /// Spends `amount` and returns true; returns false if less credit is left.
  [[nodiscard]] bool Spend(uint64_t amount) {
    const auto wanted = static_cast<int64_t>(amount);
    int64_t now = now_;
    do {
      if (now < wanted) return false;
    } while (!now_.compare_exchange_weak(now, now - wanted));
    return true;
  }
  /// Spends `amount` even if less credit is left. The credit may become negative.
  void Owe(uint64_t amount) { now_ -= static_cast<int64_t>(amount); }
  void Earn(uint64_t amount) {
    int64_t now = now_;
    while (!now_.compare_exchange_weak(now, std::min(now + static_cast<int64_t>(amount), most_))) {
    }
  }

 private:
  const int64_t most_;
  std::atomic<int64_t> now_;
};

}  // namespace zarrfs
