// The time, in nanoseconds.
#ifndef ZARRCORE_BASE_CLOCKS_H_
#define ZARRCORE_BASE_CLOCKS_H_

#include <chrono>
#include <cstdint>

namespace zarrfs {

/// Of a clock that never jumps: for ages.
inline int64_t SteadyNowNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Since 1970: to compare with the times of files.
inline int64_t RealNowNs() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace zarrfs

#endif  // ZARRCORE_BASE_CLOCKS_H_
