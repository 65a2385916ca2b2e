// Parses sizes as users write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrfs {

/// Parses a size in bytes: "4096", "512k", "64M", "1GiB" (powers of 1024) or "1GB" (powers of
/// 1000). Returns nullopt if `text` is not a size or does not fit into 64 bits.
[[nodiscard]] std::optional<uint64_t> ParseSize(std::string_view text);

}  // namespace zarrfs
