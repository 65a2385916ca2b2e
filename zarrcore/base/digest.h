// Digest: SHA-256 (FIPS 180-4), to tell by 32 bytes whether values that are not kept were the same.
// Nobody can make two values of one digest, which a store's author could for a hash of 64 bits.
#ifndef ZARRCORE_BASE_DIGEST_H_
#define ZARRCORE_BASE_DIGEST_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zarrfs {

struct Digest {
  std::array<uint32_t, 8> words{};
  auto operator<=>(const Digest&) const = default;
};

/// For unordered containers.
struct HashOfDigest {
  size_t operator()(const Digest& digest) const {
    return size_t{digest.words[0]} << 32 | digest.words[1];
  }
};

/// Takes values one after the other. Add() puts the length of a text before it, so that two lists
/// of values have one digest only if they are the same list.
class DigestBuilder {
 public:
  DigestBuilder& Add(std::string_view text);
  DigestBuilder& Add(std::span<const std::byte> bytes);
  DigestBuilder& Add(uint64_t number);
  DigestBuilder& Add(const Digest& digest);
  /// As they are, without a length.
  void AddRaw(std::string_view bytes);
  [[nodiscard]] Digest Finish() &&;

 private:
  static constexpr size_t kBlock = 64;
  void Compress(const char* block);

  Digest state_{{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                 0x5be0cd19}};
  std::array<char, kBlock> pending_;
  uint64_t size_ = 0;  // bytes taken
};

}  // namespace zarrfs

#endif  // ZARRCORE_BASE_DIGEST_H_
