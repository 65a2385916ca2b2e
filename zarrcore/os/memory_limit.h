// How much memory a process that reads a store may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// The minimum of the option `memory`.
inline constexpr uint64_t kLeastMemory = uint64_t{64} << 20;

/// The lowest limit of the process's control group (version 1 or 2) and its ancestors; nullopt if
/// none is set. `root`: where control groups are mounted; `membership`: the text of
/// /proc/self/cgroup.
[[nodiscard]] std::optional<uint64_t> ControlGroupLimit(const std::filesystem::path& root,
                                                        std::string_view membership);

/// The memory of a Slurm job on this machine: SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU times
/// SLURM_CPUS_ON_NODE, in MiB. nullopt outside of a job, and for 0, which means all.
[[nodiscard]] std::optional<uint64_t> SlurmLimit(
    const std::function<const char*(const char*)>& environment);

/// The memory that this process can use: the machine's, or the lowest of the limits above.
[[nodiscard]] uint64_t AvailableMemory();

/// The option's default: a quarter of AvailableMemory(), from 128 MiB to 4 GiB.
[[nodiscard]] uint64_t DefaultMemory();

/// One line for the log if `memory` is more than half of `available`, else "".
[[nodiscard]] std::string MemoryWarning(uint64_t memory, uint64_t available);

/// Sets the limit of ProcessMemory(), and a somewhat higher limit on all allocations of this
/// process (RLIMIT_DATA), which covers memory outside the budget. `threads`: number of threads that
/// read the store. May be called again. An error says why only the first limit is in force.
[[nodiscard]] Result<void> LimitMemory(uint64_t bytes, uint64_t threads);

}  // namespace zarrfs
