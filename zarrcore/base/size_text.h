// Sizes as users write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrfs {

/// Bytes of "4096", "512k", "64M", "1GiB" (powers of 1024) or "1GB" (powers of 1000). nullopt if
/// `text` is not a size or does not fit.
[[nodiscard]] std::optional<uint64_t> ParseSize(std::string_view text);

}  // namespace zarrfs
