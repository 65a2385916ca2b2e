// How much memory a worker may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace zarrfs {

/// The least that the option memory may be.
inline constexpr uint64_t kLeastMemory = uint64_t{64} << 20;

/// The least limit that the process's control group (version 2) or one above it has; nullopt if
/// none has any. `root`: where control groups are mounted; `membership`: the text of
/// /proc/self/cgroup.
[[nodiscard]] std::optional<uint64_t> ControlGroupLimit(const std::filesystem::path& root,
                                                        std::string_view membership);

/// The option's default: a quarter of the machine's memory, or of ControlGroupLimit() if that is
/// less, from 512 MiB to 4 GiB.
[[nodiscard]] uint64_t DefaultMemory();

/// Sets the limit of ProcessMemory(), and limits what this process may allocate at all
/// (RLIMIT_DATA) to somewhat more, for what nobody has taken from that. `threads`: that answer the
/// kernel. May be called again.
void LimitMemory(uint64_t bytes, uint32_t threads);

}  // namespace zarrfs
