// RequestLimit: how many requests a server gets at once. It says that they are too many by refusing
// some (503, 429); the share that it refuses tells how many it bears. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>

namespace zarrfs {

class RequestLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `most`: at any time, and at first.
  explicit RequestLimit(size_t most) : most_(most), limit_(most) {}

  [[nodiscard]] size_t now() const { return limit_; }
  /// A request that was sent at `begun` has been answered at `ended`, or refused.
  void Count(bool is_refused, Time begun, Time ended);

 private:
  const size_t most_;
  size_t limit_;
  // Of the requests sent since the limit was last looked at or, at the earliest, changed.
  size_t answered_ = 0;
  size_t refused_ = 0;
  size_t good_rounds_ = 0;  // of as many requests as the limit, none of them refused
  Time changed_ = {};
};

}  // namespace zarrfs
