// Faults of the calls by which a worker reads its store, as a disk or a machine that fails makes
// them: the library faulty_calls, which the program under test has loaded (LD_PRELOAD), does what a
// page in a file says that both have mapped.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace zarrfs {

/// The page. Rates are per 1024 calls.
struct Faults {
  std::atomic<pid_t> process;       // the one to fail; others have no faults
  std::atomic<uint32_t> io_errors;  // of pread, readdir, statx, fstat
  std::atomic<uint32_t> short_reads;
  std::atomic<uint32_t> stalls;       // up to half a second, of the same calls
  std::atomic<uint32_t> full_tables;  // EMFILE, of openat2
  std::atomic<uint32_t> no_memory;    // operator new, per 2^20 calls
  std::atomic<uint64_t> made;         // faults so far
};

/// What the file is called: the path of the library, and this. (A worker keeps no variable that
/// could name it.)
inline constexpr const char* kFaultsSuffix = ".page";

}  // namespace zarrfs
