// Reads and writes all bytes, with as many system calls as that takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Reads until `out` is full. False if the file is shorter or cannot be read.
[[nodiscard]] bool ReadAll(const Descriptor& file, uint64_t at, std::span<std::byte> out);
/// Writes all of `bytes` at this offset. False, with errno, if not all can be written.
[[nodiscard]] bool WriteAll(const Descriptor& file, uint64_t at, std::span<const std::byte> bytes);
/// Writes all of `bytes` at the current position, also into pipes.
[[nodiscard]] bool WriteAll(int fd, std::span<const std::byte> bytes);

}  // namespace zarrfs
