#include "zarrcore/icechunk/object_id.h"

namespace zarrfs {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr unsigned kBits = 5;  // the number of bits per character

}  // namespace

std::string IcechunkIdText(std::span<const uint8_t> id) {
  std::string text;
  unsigned waiting = 0;  // bits that are not yet part of a character
  unsigned bits = 0;     // the number of bits in `waiting`
  for (const uint8_t byte : id) {
    waiting = (waiting << 8) | byte;
    for (bits += 8; bits >= kBits; bits -= kBits) {
      text += kAlphabet[(waiting >> (bits - kBits)) & 31U];
    }
    waiting &= (1U << bits) - 1;
  }
  if (bits > 0) text += kAlphabet[(waiting << (kBits - bits)) & 31U];
  return text;
}

std::optional<IcechunkId> ParseIcechunkId(std::string_view text) {
  if (text.size() != kIcechunkIdText) return std::nullopt;
  IcechunkId id{};
  unsigned waiting = 0;
  unsigned bits = 0;
  size_t at = 0;
  for (const char character : text) {
    const size_t value = kAlphabet.find(character);
    if (value == std::string_view::npos) return std::nullopt;
    waiting = (waiting << kBits) | static_cast<unsigned>(value);
    bits += kBits;
    if (bits < 8) continue;
    bits -= 8;
    id[at++] = static_cast<uint8_t>(waiting >> bits);
    waiting &= (1U << bits) - 1;
  }
  if (waiting != 0) return std::nullopt;  // the padding bits must be zero
  return id;
}

}  // namespace zarrfs
