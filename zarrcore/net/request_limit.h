// RequestLimit: the number of concurrent requests to a server. A server signals overload by
// refusing some (503, 429); the share of refusals shows how many it can handle. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>

namespace zarrfs {

class RequestLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `most`: the maximum, and the initial limit.
  explicit RequestLimit(size_t most) : most_(most), limit_(most) {}

  [[nodiscard]] size_t now() const { return limit_; }
  /// A request that was sent at `begun` was answered or refused at `ended`.
  void Count(bool is_refused, Time begun, Time ended);

 private:
  const size_t most_;
  size_t limit_;
  // Counted since the last review of the limit, for requests sent after its last change.
  size_t answered_ = 0;
  size_t refused_ = 0;
  size_t good_rounds_ = 0;  // each of as many requests as the limit, without a refusal
  Time changed_ = {};
};

}  // namespace zarrfs
