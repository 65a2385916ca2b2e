// Digest: SHA-256, to compare values that are not kept. Unlike with a 64-bit hash, nobody can craft
// two values with the same digest.
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

/// Digests values one after the other. Add() prefixes a text with its length, so only equal lists
/// of values have equal digests.
class DigestBuilder {
 public:
  DigestBuilder() { sha256_init(&state_); }

  DigestBuilder& Add(std::string_view text);
  DigestBuilder& Add(std::span<const std::byte> bytes);
  DigestBuilder& Add(uint64_t number);
  DigestBuilder& Add(const Digest& digest);
  /// The bytes alone, without a length.
  void AddRaw(std::string_view bytes);
  [[nodiscard]] Digest Finish();

 private:
  sha256_ctx state_;
};

}  // namespace zarrfs
