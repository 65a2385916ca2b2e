// Base64 (RFC 4648, section 4): standard alphabet, padded.
#ifndef ZARRCORE_METADATA_BASE64_H_
#define ZARRCORE_METADATA_BASE64_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

[[nodiscard]] std::string EncodeBase64(std::span<const std::byte> bytes);

/// Nothing for text that EncodeBase64 would not have written, but for the unused last bits.
[[nodiscard]] std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_BASE64_H_
