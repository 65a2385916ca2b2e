// BandwidthLimit: limits the data that a mount receives to `bandwidth=` bytes a second, by deciding
// when the next request for data may be sent. Not thread-safe.
//
// Each request is charged before it is sent. The next request waits until a link of this bandwidth
// would have transferred all charged bytes. A request that was sent runs at full speed, so a single
// small read after a pause does not wait.
#pragma once

#include <chrono>
#include <cstdint>

namespace zarrfs {

class BandwidthLimit {
 public:
  using Clock = std::chrono::steady_clock;
  /// The burst after a pause: the bytes that the limit allows in this time are requested without
  /// waiting.
  static constexpr Clock::duration kBurst = std::chrono::seconds(1);

  /// `bytes_per_s`: 0 for no limit.
  explicit BandwidthLimit(uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}

  /// True if a request may be sent at `now`.
  [[nodiscard]] bool MayBegin(Clock::time_point now) const { return now >= next(); }
  /// When the next request may be sent. A time in the past means immediately.
  [[nodiscard]] Clock::time_point next() const { return next_; }
  /// Charges a request for `bytes` that is sent at `now`.
  void Charge(uint64_t bytes, Clock::time_point now);
  /// Corrects the charge of a request to the number of bytes that it received.
  void Correct(uint64_t charged, uint64_t received);

 private:
  [[nodiscard]] Clock::duration TimeFor(uint64_t bytes) const;

  const uint64_t bytes_per_s_;
  Clock::time_point next_ = {};
};

}  // namespace zarrfs
