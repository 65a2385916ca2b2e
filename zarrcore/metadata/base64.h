// Base64 (RFC 4648, section 4): standard alphabet, padded.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

[[nodiscard]] std::string EncodeBase64(std::span<const std::byte> bytes);

/// nullopt for text that EncodeBase64() never writes, except that unused trailing bits may be set.
[[nodiscard]] std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace zarrfs
