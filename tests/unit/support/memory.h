// How much memory something takes, for tests of bounds.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZARRFS_HAS_SANITIZER_ALLOCATOR
extern "C" size_t __sanitizer_get_current_allocated_bytes();
#endif
#endif

namespace zarrfs {

/// Bytes that are allocated now; 0 where that is not known.
inline size_t LiveBytes() {
#if defined(ZARRFS_HAS_SANITIZER_ALLOCATOR)
  return __sanitizer_get_current_allocated_bytes();
#elif defined(__GLIBC__)
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

/// A line of /proc/self/status, in bytes.
inline size_t MemoryStatus(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (word != name + ":") continue;
    size_t kilobytes = 0;
    file >> kilobytes;
    return kilobytes << 10;
  }
  return 0;
}

/// How much more memory the process had at its peak while `run` ran than before; nullopt if the
/// kernel does not say.
template <typename Run>
std::optional<size_t> PeakBytesOf(Run run) {
  std::ofstream reset("/proc/self/clear_refs");
  if (!(reset << "5" << std::flush)) return std::nullopt;
  const size_t before = MemoryStatus("VmRSS");
  run();
  const size_t peak = MemoryStatus("VmHWM");
  return peak > before ? peak - before : 0;
}

}  // namespace zarrfs
