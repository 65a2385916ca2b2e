#include "zarrcore/metadata/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace zarrfs {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 64;

constexpr std::array<uint8_t, 256> kValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}();

}  // namespace

std::string EncodeBase64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < n ? std::to_integer<uint32_t>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= n ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    const bool is_last = i + 4 == text.size();
    const size_t padding = !is_last || text[i + 3] != '=' ? 0 : (text[i + 2] != '=' ? 1 : 2);
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k) {
      const bool is_padding = k >= 4 - padding;
      const uint8_t value = is_padding ? uint8_t{0} : kValues[static_cast<uint8_t>(text[i + k])];
      if (value == kNoDigit) return std::nullopt;
      group = group << 6 | value;
    }
    for (size_t k = 0; k < 3 - padding; ++k) {
      bytes.push_back(static_cast<std::byte>(group >> (16 - 8 * k)));
    }
  }
  return bytes;
}

}  // namespace zarrfs
