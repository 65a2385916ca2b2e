// Determines how much memory a process that reads a store may use, and limits it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// The minimum value of the option `memory`.
inline constexpr uint64_t kMinMemory = uint64_t{64} << 20;

/// The lowest memory limit, in bytes, of the process's control group (version 1 or 2) and its
/// ancestors; nullopt if no limit is set. `root`: the folder where control groups are mounted;
/// `membership`: the contents of /proc/self/cgroup.
[[nodiscard]] std::optional<uint64_t> ControlGroupLimit(const std::filesystem::path& root,
                                                        std::string_view membership);

/// The memory in bytes that the Slurm job may use on this machine: SLURM_MEM_PER_NODE, or
/// SLURM_MEM_PER_CPU times SLURM_CPUS_ON_NODE, both in MiB. nullopt outside of a job, and for the
/// value 0, which means all memory.
[[nodiscard]] std::optional<uint64_t> SlurmLimit(
    const std::function<const char*(const char*)>& environment);

/// The memory that this process can use, in bytes: the memory of the machine or the limit of its
/// control group or Slurm job, whichever is lowest.
[[nodiscard]] uint64_t AvailableMemory();

/// The default of the option `memory` in bytes: a quarter of AvailableMemory(), but at least
/// 128 MiB and at most 4 GiB.
[[nodiscard]] uint64_t DefaultMemory();

/// A warning for the log if `memory` is more than half of `available`, otherwise "".
[[nodiscard]] std::string MemoryWarning(uint64_t memory, uint64_t available);

/// Sets the limit of ProcessMemory(), and a somewhat higher limit on all allocations of this
/// process (RLIMIT_DATA), which also covers memory outside the budget. `threads`: the number of
/// threads that read the store. May be called again. On an error, only the limit of ProcessMemory()
/// is in force; the error says why.
[[nodiscard]] Result<void> LimitMemory(uint64_t bytes, uint64_t threads);

}  // namespace zarrfs
