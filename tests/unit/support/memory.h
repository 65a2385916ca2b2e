// Measures memory, for tests of limits.
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

/// The number of bytes allocated now; 0 if unknown.
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

/// The value of a line of /proc/self/status, in bytes; 0 if it is absent.
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

/// How far the peak memory of the process during `run` exceeds its memory before, in bytes; nullopt
/// if the kernel does not report it.
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
