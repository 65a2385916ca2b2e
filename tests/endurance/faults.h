// Faults in the calls with which a worker reads its store, like those of a failing disk or machine.
// The library faulty_calls, preloaded into the program under test (LD_PRELOAD), makes these calls
// fail. The test says how often, in a page of a file that both have mapped.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace zarrfs {

/// The shared page. Rates are per 1024 calls unless stated otherwise.
struct Faults {
  std::atomic<pid_t> process;       // the only process that has faults
  std::atomic<uint32_t> io_errors;  // EIO from pread, readdir, statx, fstat
  std::atomic<uint32_t> short_reads;
  std::atomic<uint32_t> stalls;       // delays of up to half a second in the same calls
  std::atomic<uint32_t> full_tables;  // EMFILE from openat2
  std::atomic<uint32_t> no_memory;    // bad_alloc from operator new, per 2^20 calls
  std::atomic<uint64_t> made;         // the number of faults so far
};

/// The path of the file is the path of the library with this suffix. An environment variable could
/// not name the file, because workers keep none.
inline constexpr const char* kFaultsSuffix = ".page";

}  // namespace zarrfs
