#include "zarrcore/net/bandwidth_limit.h"

#include <algorithm>

namespace zarrfs {

BandwidthLimit::Clock::duration BandwidthLimit::TimeFor(uint64_t bytes) const {
  if (bytes_per_s_ == 0) return {};
  const std::chrono::duration<double> time(static_cast<double>(bytes) /
                                           static_cast<double>(bytes_per_s_));
  return std::chrono::duration_cast<Clock::duration>(time);
}

void BandwidthLimit::Charge(uint64_t bytes, Clock::time_point now) {
  if (bytes_per_s_ == 0) return;
  next_ = std::max(next_, now - kBurst) + TimeFor(bytes);
}

void BandwidthLimit::Correct(uint64_t charged, uint64_t received) {
  next_ += TimeFor(received) - TimeFor(charged);
}

}  // namespace zarrfs
