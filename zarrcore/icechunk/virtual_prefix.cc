#include "zarrcore/icechunk/virtual_prefix.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "zarrcore/base/printable.h"
#include "zarrcore/store/store.h"

namespace zarrfs {
namespace {

struct SchemeRow {
  VirtualScheme scheme;
  std::string_view name;
  uint16_t port;  // the default port of the scheme; 0 if it has none
};
constexpr std::array<SchemeRow, 4> kSchemes = {{{VirtualScheme::kFile, "file", 0},
                                                {VirtualScheme::kS3, "s3", 0},
                                                {VirtualScheme::kHttp, "http", 80},
                                                {VirtualScheme::kHttps, "https", 443}}};

const SchemeRow& RowOf(VirtualScheme scheme) {
  return *std::ranges::find(kSchemes, scheme, &SchemeRow::scheme);
}

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool IsOneOf(char c, std::string_view characters) { return characters.find(c) != characters.npos; }

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// An address, normalized for comparison.
struct Address {
  VirtualPrefix folder;
  std::string name;  // the last component; "" if the address ends in a slash
};
using Why = tl::unexpected<std::string>;
template <typename T>
using Parsed = tl::expected<T, std::string>;

Parsed<std::string> Port(std::string_view text, uint16_t own) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) {
    return Why("its port is not a number from 1 to 65535");
  }
  return port == own ? std::string() : fmt::format(":{}", port);
}

Parsed<std::string> Host(std::string_view text, uint16_t own_port) {
  std::string_view host = text;
  std::string_view port;
  const bool is_v6 = text.starts_with('[');
  const size_t end = is_v6 ? text.find(']') : text.find(':');
  if (is_v6 && end == text.npos) return Why("its host has no end");
  if (end != text.npos) {
    host = text.substr(0, is_v6 ? end + 1 : end);
    const std::string_view rest = text.substr(host.size());
    if (!rest.empty() && (rest.front() != ':' || rest.size() == 1)) return Why("its port is empty");
    if (!rest.empty()) port = rest.substr(1);
  }
  const std::string_view name = is_v6 ? host.substr(1, host.size() - 2) : host;
  const auto is_valid = [&](char c) {
    return is_v6 ? IsOneOf(c, ":.0123456789abcdefABCDEF")
                 : IsOneOf(c, kLetters) || IsOneOf(c, kDigits) || IsOneOf(c, "-._");
  };
  if (name.empty() || !std::ranges::all_of(name, is_valid)) return Why("its host is not a name");
  if (name.starts_with('.') || name.ends_with('.') || name.find("..") != name.npos) {
    return Why("its host has an empty part");
  }
  if (port.empty()) return LowerCase(host);
  auto shown = Port(port, own_port);
  return shown ? LowerCase(host) + *shown : shown;
}

Parsed<std::string> Authority(const SchemeRow& scheme, std::string_view text) {
  if (text.find('@') != text.npos) return Why("it has a user name");
  if (scheme.scheme == VirtualScheme::kFile) {
    if (text.empty() || LowerCase(text) == "localhost") return std::string();
    return Why("it names a file on another host");
  }
  if (scheme.scheme != VirtualScheme::kS3) return Host(text, scheme.port);
  const auto is_valid = [](char c) {
    return IsOneOf(c, kLetters) || IsOneOf(c, kDigits) || IsOneOf(c, "-._");
  };
  const bool is_bucket = !text.empty() && std::ranges::all_of(text, is_valid) &&
                         text.front() != '.' && text.find("..") == text.npos;
  return is_bucket ? Parsed<std::string>(std::string(text)) : Why("its bucket is not a name");
}

std::optional<unsigned> HexDigit(char c) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(&c, &c + 1, value, 16);
  return error == std::errc() && end == &c + 1 ? std::optional(value) : std::nullopt;
}

Parsed<std::string> Component(std::string_view text) {
  std::string decoded;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    const auto high = at + 1 < text.size() ? HexDigit(text[at + 1]) : std::nullopt;
    const auto low = at + 2 < text.size() ? HexDigit(text[at + 2]) : std::nullopt;
    if (!high || !low) return Why("a % in it is not followed by two digits");
    decoded += static_cast<char>(*high * 16 + *low);
    at += 2;
  }
  if (decoded.empty()) return Why("it has an empty component");
  if (decoded == "." || decoded == "..") return Why("it has '.' or '..' as a component");
  const auto is_refused = [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7F' || c == '/' || c == '\\';
  };
  if (std::ranges::any_of(decoded, is_refused)) {
    return Why("it has a control character, a backslash or an encoded slash");
  }
  return decoded;
}

// Adds the components of `path`, the part of an address after its host and a slash, to `address`.
Parsed<void> AddPath(std::string_view path, Address& address) {
  while (!path.empty()) {
    const size_t slash = path.find('/');
    auto component = Component(path.substr(0, slash));
    if (!component) return Why(component.error());
    if (slash == path.npos) {
      address.name = *std::move(component);
      return {};
    }
    address.folder.folders.push_back(*std::move(component));
    path.remove_prefix(slash + 1);
  }
  return {};
}

Parsed<Address> Parse(std::string_view text) {
  if (text.size() > kMaxVirtualLocation) return Why("it is too long");
  const size_t colon = text.find("://");
  const std::string scheme = LowerCase(text.substr(0, std::min(colon, text.size())));
  const auto* const row = std::ranges::find(kSchemes, scheme, &SchemeRow::name);
  if (colon == text.npos || row == kSchemes.end()) {
    return Why("it is not an address that begins with file://, s3://, http:// or https://");
  }
  const std::string_view rest = text.substr(colon + 3);
  // Refuse characters that other programs interpret: they cut off what follows a '?' or '#', and
  // read a backslash as a slash.
  if (rest.find_first_of("?#\\") != rest.npos) return Why("it has a '?', '#' or backslash");
  const size_t slash = rest.find('/');
  if (slash == rest.npos) return Why("no '/' follows its host or bucket");
  auto authority = Authority(*row, rest.substr(0, slash));
  if (!authority) return Why(authority.error());
  Address address{{row->scheme, *std::move(authority), {}, {}}, {}};
  auto added = AddPath(rest.substr(slash + 1), address);
  if (!added) return Why(added.error());
  return address;
}

// Writes all characters as %XX except letters, digits, '-', '.' and '_', which have no meaning in
// lists of options, shells and addresses.
std::string Encoded(std::string_view component) {
  std::string encoded;
  for (const char c : component) {
    if (IsOneOf(c, kLetters) || IsOneOf(c, kDigits) || IsOneOf(c, "-._")) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

Result<Address> ParseLocation(std::string_view location) {
  auto address = Parse(location);
  if (address && !address->name.empty()) return *std::move(address);
  return Fail(ErrorCode::kUnsupported, "not accepted as the address of a file: {}",
              address ? "it ends in '/'" : address.error());
}

bool Covers(const VirtualPrefix& prefix, const VirtualPrefix& folder) {
  return prefix.scheme == folder.scheme && prefix.authority == folder.authority &&
         prefix.folders.size() <= folder.folders.size() &&
         std::ranges::equal(prefix.folders, std::span(folder.folders).first(prefix.folders.size()));
}

}  // namespace

std::string VirtualPrefix::Text() const {
  std::string text = fmt::format("{}://{}/", RowOf(scheme).name, authority);
  for (const std::string& folder : folders) text += Encoded(folder) + '/';
  return text;
}

std::string VirtualPrefix::Path() const {
  std::string path;
  for (const std::string& folder : folders) path += '/' + folder;
  return path.empty() ? "/" : path;
}

bool VirtualPrefix::IsSamePlaceAs(const VirtualPrefix& other) const {
  return scheme == other.scheme && authority == other.authority && folders == other.folders;
}

Result<VirtualPrefix> ParseVirtualPrefix(std::string_view text) {
  auto address = Parse(text);
  if (address && address->name.empty()) return std::move(address->folder);
  return Fail(ErrorCode::kInvalidArgument, "{}: {}", AsciiExcerpt(text),
              address ? "it must end in '/'" : address.error());
}

Result<VirtualPrefix> VirtualPrefixOf(std::string_view location) {
  auto address = ParseLocation(location);
  if (!address) return Fail(address);
  return std::move(address->folder);
}

Result<VirtualPlace> MatchVirtualLocation(std::span<const VirtualPrefix> prefixes,
                                          std::string_view location) {
  const auto address = ParseLocation(location);
  if (!address) return Fail(address);
  const VirtualPrefix& folder = address->folder;
  std::optional<size_t> best;
  for (size_t number = 0; number < prefixes.size(); ++number) {
    if (!Covers(prefixes[number], folder)) continue;
    if (!best || prefixes[number].folders.size() > prefixes[*best].folders.size()) best = number;
  }
  if (!best) {
    return Fail(ErrorCode::kUnsupported, "outside virtual=; to allow it, add -o virtual={}",
                folder.Text());
  }
  VirtualPlace place{*best, {}};
  for (size_t i = prefixes[*best].folders.size(); i < folder.folders.size(); ++i) {
    place.key = JoinKey(place.key, folder.folders[i]);
  }
  place.key = JoinKey(place.key, address->name);
  if (IsValidKey(place.key)) return place;
  return Fail(ErrorCode::kUnsupported, "not accepted as the address of a file: not a key");
}

}  // namespace zarrfs
