// BandwidthLimit: when the next request for data may be sent, so that a mount receives at most
// `bandwidth=` bytes a second. Not thread-safe.
//
// Each request is charged before it is sent, and the next one waits until the link would have
// transferred all that was charged. A request itself runs at full speed, so a single small read
// after a pause does not wait.
#pragma once

#include <chrono>
#include <cstdint>

namespace zarrfs {

class BandwidthLimit {
 public:
  using Clock = std::chrono::steady_clock;
  /// After a pause, requests for this time's worth of bytes may be sent at once.
  static constexpr Clock::duration kBurst = std::chrono::seconds(1);

  /// `bytes_per_s`: 0 for no limit.
  explicit BandwidthLimit(uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}

  /// True if a request may be sent at `now`.
  [[nodiscard]] bool MayBegin(Clock::time_point now) const { return now >= next(); }
  /// When the next request may be sent; in the past if it may be sent at once.
  [[nodiscard]] Clock::time_point next() const { return next_; }
  /// Charges a request for `bytes` that is sent at `now`.
  void Charge(uint64_t bytes, Clock::time_point now);
  /// Replaces the charge of a request by the number of bytes that were received.
  void Correct(uint64_t charged, uint64_t received);

 private:
  [[nodiscard]] Clock::duration TimeFor(uint64_t bytes) const;

  const uint64_t bytes_per_s_;
  Clock::time_point next_ = {};
};

}  // namespace zarrfs
