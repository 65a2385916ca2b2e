// Credit: limits requests that are made because others will probably follow.
//
// Each such request spends credit. What follows earns it back, so that credit runs out only where
// nothing follows. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace zarrfs {

class Credit {
 public:
  /// Begins with the most that there can be.
  explicit Credit(int64_t most) : most_(most), now_(most) {}

  /// Spends `amount`, unless that is more than there is.
  [[nodiscard]] bool Spend(uint64_t amount) {
    const auto wanted = static_cast<int64_t>(amount);
    int64_t now = now_;
    do {
      if (now < wanted) return false;
    } while (!now_.compare_exchange_weak(now, now - wanted));
    return true;
  }
  /// Spends `amount` even if that is more than there is.
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
