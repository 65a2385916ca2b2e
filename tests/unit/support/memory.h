// How much memory something takes, for tests of bounds.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>

namespace zarrfs {

/// Bytes that are allocated now; 0 where that is not known (with the address sanitizer).
inline size_t LiveBytes() {
#ifdef __GLIBC__
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
