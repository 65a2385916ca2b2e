// Sizes as users write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrfs {

/// "4096", "512k", "64M", "1GiB": bytes, in powers of 1024; "1GB": of 1000. Empty if `text` is not
/// a size or does not fit.
[[nodiscard]] std::optional<uint64_t> ParseSize(std::string_view text);

}  // namespace zarrfs
