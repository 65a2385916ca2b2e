// Digest: a SHA-256 hash, used to compare values without storing them. Unlike with a 64-bit hash,
// nobody can craft two values with the same digest.
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

/// Returns 64 bits of a Digest as its hash, for unordered containers.
struct DigestHash {
  size_t operator()(const Digest& digest) const {
    size_t hash;
    std::memcpy(&hash, digest.bytes.data(), sizeof hash);
    return hash;
  }
};

/// Computes the digest of a list of values. Add() prefixes each string with its length, so only
/// equal lists have equal digests.
class DigestBuilder {
 public:
  DigestBuilder() { sha256_init(&state_); }

  DigestBuilder& Add(std::string_view text);
  DigestBuilder& Add(std::span<const std::byte> bytes);
  DigestBuilder& Add(uint64_t number);
  DigestBuilder& Add(const Digest& digest);
  /// Adds the bytes without a length prefix.
  void AddRaw(std::string_view bytes);
  [[nodiscard]] Digest Finish();

 private:
  sha256_ctx state_;
};

}  // namespace zarrfs
