// Base64 with the standard alphabet and padding: RFC 4648, section 4.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

[[nodiscard]] std::string EncodeBase64(std::span<const std::byte> bytes);

/// Decodes `text`. nullopt if `text` is not padded base64, or contains white space. Unused bits of
/// the last digit may be set.
[[nodiscard]] std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace zarrfs
