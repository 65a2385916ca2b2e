// Reads and writes all bytes, with as many system calls as needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Reads from offset `at` until `out` is full. False if the file is shorter or cannot be read.
[[nodiscard]] bool ReadAll(const Descriptor& file, uint64_t at, std::span<std::byte> out);
/// Writes all of `bytes` at offset `at`. False, with errno set, on failure.
[[nodiscard]] bool WriteAll(const Descriptor& file, uint64_t at, std::span<const std::byte> bytes);
/// Writes all of `bytes` at the current position; `fd` may be a pipe. False, with errno set, on
/// failure.
[[nodiscard]] bool WriteAll(int fd, std::span<const std::byte> bytes);

}  // namespace zarrfs
