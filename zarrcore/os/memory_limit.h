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

/// The least that the option memory may be.
inline constexpr uint64_t kLeastMemory = uint64_t{64} << 20;

/// The least limit that the process's control group (version 1 or 2) or one above it has; nullopt
/// if none has any. `root`: where control groups are mounted; `membership`: the text of
/// /proc/self/cgroup.
[[nodiscard]] std::optional<uint64_t> ControlGroupLimit(const std::filesystem::path& root,
                                                        std::string_view membership);

/// What a Slurm job may use on this machine: SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU times
/// SLURM_CPUS_ON_NODE, in MiB. nullopt outside of a job, and for 0, which means all.
[[nodiscard]] std::optional<uint64_t> SlurmLimit(
    const std::function<const char*(const char*)>& environment);

/// What this process can use at most: the machine's memory, or the least of the limits above.
[[nodiscard]] uint64_t AvailableMemory();

/// The option's default: a quarter of AvailableMemory(), from 128 MiB to 4 GiB.
[[nodiscard]] uint64_t DefaultMemory();

/// One line for the log if `memory` is more than half of what is `available`, else "".
[[nodiscard]] std::string MemoryWarning(uint64_t memory, uint64_t available);

/// Sets the limit of ProcessMemory(), and limits what this process may allocate at all
/// (RLIMIT_DATA) to somewhat more, for what nobody has taken from that. `threads`: that read the
/// store. May be called again. An error says why only the first of the two is in force.
[[nodiscard]] Result<void> LimitMemory(uint64_t bytes, uint64_t threads);

}  // namespace zarrfs
