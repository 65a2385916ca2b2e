// RequestLimit: limits the number of concurrent requests to a server. A server signals overload by
// refusing some requests (503, 429). The share of refusals shows how many requests it can handle.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>

namespace zarrfs {

class RequestLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `most`: the maximum, which is also the initial limit.
  explicit RequestLimit(size_t most) : most_(most), limit_(most) {}

  [[nodiscard]] size_t now() const { return limit_; }
  /// Counts a request that was sent at `begun`, and answered or refused at `ended`.
  void Count(bool is_refused, Time begun, Time ended);

 private:
  const size_t most_;
  size_t limit_;
  // Requests answered and refused in the current batch, which has as many requests as the limit.
  // Requests that were sent before the last change of the limit are not counted.
  size_t answered_ = 0;
  size_t refused_ = 0;
  // The number of consecutive batches without a refusal.
  size_t good_rounds_ = 0;
  Time changed_ = {};
};

}  // namespace zarrfs
