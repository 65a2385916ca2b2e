#include "zarrcore/base/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "zarrcore/base/byte_order.h"

namespace zarrfs {
namespace {

constexpr std::array<uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void DigestBuilder::Compress(const char* block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) {
    w[i] = LoadBig<uint32_t>(reinterpret_cast<const std::byte*>(block) + 4 * i);
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_.words;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRoundConstants[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < added.size(); ++i) state_.words[i] += added[i];
}

void DigestBuilder::AddRaw(std::string_view bytes) {
  if (bytes.empty()) return;  // which may have no address
  if (const size_t used = size_ % kBlock; used > 0) {
    const size_t taken = std::min(bytes.size(), kBlock - used);
    std::memcpy(pending_.data() + used, bytes.data(), taken);
    size_ += taken;
    bytes.remove_prefix(taken);
    if (used + taken < kBlock) return;
    Compress(pending_.data());
  }
  size_ += bytes.size();
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) Compress(bytes.data());
  if (!bytes.empty()) std::memcpy(pending_.data(), bytes.data(), bytes.size());
}

DigestBuilder& DigestBuilder::Add(uint64_t number) {
  std::array<std::byte, sizeof number> bytes;
  StoreLittle(bytes.data(), number);
  AddRaw({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return *this;
}

DigestBuilder& DigestBuilder::Add(std::string_view text) {
  Add(uint64_t{text.size()});
  AddRaw(text);
  return *this;
}

DigestBuilder& DigestBuilder::Add(std::span<const std::byte> bytes) {
  return Add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

DigestBuilder& DigestBuilder::Add(const Digest& digest) {
  for (const uint32_t word : digest.words) Add(uint64_t{word});
  return *this;
}

Digest DigestBuilder::Finish() && {
  const uint64_t bits = 8 * size_;
  std::array<char, 2 * kBlock> end = {static_cast<char>(0x80)};
  const size_t used = size_ % kBlock;
  // One more byte, zeros, and eight bytes of the length fill the last block.
  const size_t length = (used < kBlock - 8 ? kBlock : 2 * kBlock) - used;
  for (size_t i = 0; i < 8; ++i) end[length - 1 - i] = static_cast<char>(bits >> (8 * i));
  AddRaw({end.data(), length});
  return state_;
}

}  // namespace zarrfs
