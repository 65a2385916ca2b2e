#include "zarrcore/base/digest.h"

#include "zarrcore/base/byte_order.h"

namespace zarrfs {

void DigestBuilder::AddRaw(std::string_view bytes) {
  sha256_update(&state_, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
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
  return Add(std::as_bytes(std::span(digest.bytes)));
}

Digest DigestBuilder::Finish() {
  Digest digest;
  sha256_digest(&state_, digest.bytes.size(), digest.bytes.data());
  return digest;
}

}  // namespace zarrfs
