#include "zarrcore/icechunk/stored_names.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace zarrfs {
namespace {

std::string EncodedName(std::string_view name) {
  constexpr std::string_view kEncoded = R"(/\{^}%`]">[~<#|*?)";
  std::string encoded;
  for (const char c : name) {
    const bool is_plain = c >= ' ' && c < '\x7F' && kEncoded.find(c) == kEncoded.npos;
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<uint8_t>(c));
  }
  return encoded;
}

}  // namespace

std::string NameOfStoredIcechunkRef(std::string_view stored) {
  std::string name;
  for (size_t at = 0; at < stored.size(); ++at) {
    unsigned byte = static_cast<uint8_t>(stored[at]);
    if (stored[at] == '%' && stored.size() - at > 2) {
      const char* const end = stored.data() + at + 3;
      if (std::from_chars(end - 2, end, byte, 16).ptr == end) at += 2;
    }
    name += static_cast<char>(byte);
  }
  return EncodedName(name) == stored ? name : std::string(stored);
}

std::vector<std::string> StoredIcechunkNames(const IcechunkAt& at) {
  std::vector<std::string> names = {at.Text()};
  const IcechunkAt encoded{.kind = at.kind, .name = EncodedName(at.name)};
  if (at.kind != IcechunkAt::Kind::kSnapshot && encoded.name != at.name) {
    names.push_back(encoded.Text());
  }
  return names;
}

}  // namespace zarrfs
