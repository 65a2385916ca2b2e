#include "zarrcore/metadata/base64.h"

#include <nettle/base64.h>

namespace zarrfs {

std::string EncodeBase64(std::span<const std::byte> bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(text.data(), bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  return text;
}

std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  text.remove_suffix(text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0);
  // libnettle skips white space, so refuse it here. The padding has been removed, because libnettle
  // rejects padding after a digit whose unused bits are set.
  if (text.find_first_not_of(kDigits) != text.npos) return std::nullopt;
  base64_decode_ctx context;
  base64_decode_init(&context);
  std::vector<std::byte> bytes(BASE64_DECODE_LENGTH(text.size()));
  size_t size = bytes.size();
  base64_decode_update(&context, &size, reinterpret_cast<uint8_t*>(bytes.data()), text.size(),
                       text.data());
  bytes.resize(size);
  return bytes;
}

}  // namespace zarrfs
