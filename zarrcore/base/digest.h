// Digest: SHA-256, to tell by 32 bytes whether values that were not kept were the same. Unlike for
// a hash of 64 bits, nobody can craft two values with the same digest.
#pragma once

#include <nettle/sha2.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace zarrfs {

struct Digest {
  std::array<uint8_t, SHA256_DIGEST_SIZE> bytes{};
  auto operator<=>(const Digest&) const = default;
};

/// For unordered containers.
struct DigestHash {
  size_t operator()(const Digest& digest) const {
    size_t hash;
    std::memcpy(&hash, digest.bytes.data(), sizeof hash);
    return hash;
  }
};

/// Digests values one after the other. Add() puts the length of a text before it, so that only
/// equal lists of values have the same digest.
class DigestBuilder {
 public:
  DigestBuilder() { sha256_init(&state_); }

  DigestBuilder& Add(std::string_view text);
  DigestBuilder& Add(std::span<const std::byte> bytes);
  DigestBuilder& Add(uint64_t number);
  DigestBuilder& Add(const Digest& digest);
  /// The bytes alone, without their length.
  void AddRaw(std::string_view bytes);
  [[nodiscard]] Digest Finish();

 private:
  sha256_ctx state_;
};

}  // namespace zarrfs
