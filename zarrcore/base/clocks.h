// Functions that return the current time in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace zarrfs {

constexpr int64_t Nanoseconds(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// Returns the monotonic time, for ages and timeouts.
inline int64_t SteadyNowNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Like SteadyNowNs(), but cheaper and up to a few milliseconds behind.
inline int64_t CoarseNowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return Nanoseconds(now);
}

/// Returns the time since 1970, for comparison with file timestamps.
inline int64_t RealNowNs() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace zarrfs
