// Reduces the capabilities of this process.
#pragma once

#include <sys/capability.h>

#include <span>

namespace zarrfs {

/// Removes all capabilities except `wanted` from the bounding set, so no program that the process
/// starts can have any other capability. Does nothing without CAP_SETPCAP, which usually only root
/// has.
void KeepInBoundingSet(std::span<const cap_value_t> wanted);

/// Drops all capabilities of this thread except `wanted`; adds none. False, with errno set, on
/// failure.
[[nodiscard]] bool KeepCapabilities(std::span<const cap_value_t> wanted);

}  // namespace zarrfs
