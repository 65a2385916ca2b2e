#include "zarrcore/net/guarded_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

namespace zarrfs {
namespace {

// An IPv6 address in network byte order. An IPv4 address is mapped into ::ffff:0:0/96.
using AddressBytes = std::array<uint8_t, 16>;
constexpr size_t kV4 = 12;  // offset of a mapped IPv4 address in AddressBytes

struct Network {
  const char* address;
  size_t bits;
};
constexpr std::array<Network, 2> kLoopback = {{{"::ffff:127.0.0.0", 104}, {"::1", 128}}};
constexpr std::array<Network, 12> kGuarded = {{
    {"::ffff:0.0.0.0", 104},          // unspecified; connects to this machine
    {"::", 128},                      // unspecified in IPv6; connects to this machine
    {"::ffff:169.254.0.0", 112},      // link-local, with the metadata services of most clouds
    {"fe80::", 10},                   // link-local
    {"fd00:ec2::", 32},               // Amazon's instance services
    {"fd20:ce::", 32},                // Google's instance services
    {"fd00:c1::", 32},                // Oracle's instance services
    {"::ffff:192.0.0.192", 128},      // metadata service of Oracle's cloud
    {"::ffff:168.63.129.16", 128},    // Azure's instance services
    {"::ffff:100.100.100.200", 128},  // Alibaba's instance services
    {"::ffff:255.255.255.255", 128},  // broadcast
    {"ff00::", 8},                    // multicast
}};
// IPv6 networks whose addresses end in an IPv4 address.
constexpr std::array<Network, 3> kOfV4 = {{{"::", 96}, {"64:ff9b::", 96}, {"::ffff:0:0:0", 96}}};

std::optional<AddressBytes> ParseAddress(const char* text) {
  AddressBytes bytes = {};
  if (inet_pton(AF_INET6, text, bytes.data()) == 1) return bytes;
  bytes = {};
  bytes[kV4 - 2] = bytes[kV4 - 1] = 0xFF;
  if (inet_pton(AF_INET, text, bytes.data() + kV4) == 1) return bytes;
  return std::nullopt;
}

bool IsIn(const AddressBytes& address, const Network& network) {
  const AddressBytes first = *ParseAddress(network.address);
  const size_t whole = network.bits / 8;
  const auto mask = static_cast<uint8_t>(0xFF00U >> network.bits % 8);
  return std::equal(first.begin(), first.begin() + static_cast<ptrdiff_t>(whole),
                    address.begin()) &&
         (whole == first.size() || ((first[whole] ^ address[whole]) & mask) == 0);
}

template <size_t n>
bool IsInOne(const AddressBytes& address, const std::array<Network, n>& networks) {
  return std::ranges::any_of(networks, [&](const Network& each) { return IsIn(address, each); });
}

// Returns the IPv4 address inside an IPv6 address; any other address stays as it is.
AddressBytes WithoutTranslation(AddressBytes address) {
  const bool is_own = IsInOne(address, kLoopback) || IsIn(address, {"::", 128});
  if (is_own || !IsInOne(address, kOfV4)) return address;
  AddressBytes v4 = *ParseAddress("0.0.0.0");
  std::copy(address.begin() + kV4, address.end(), v4.begin() + kV4);
  return v4;
}

std::optional<AddressBytes> BytesOf(const sockaddr& address, socklen_t length) {
  AddressBytes bytes = *ParseAddress("0.0.0.0");
  if (address.sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
    sockaddr_in v4 = {};
    std::memcpy(&v4, &address, sizeof v4);
    std::memcpy(bytes.data() + kV4, &v4.sin_addr, sizeof v4.sin_addr);
    return bytes;
  }
  if (address.sa_family != AF_INET6 || length < sizeof(sockaddr_in6)) return std::nullopt;
  sockaddr_in6 v6 = {};
  std::memcpy(&v6, &address, sizeof v6);
  std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
  return WithoutTranslation(bytes);
}

}  // namespace

bool IsGuarded(const sockaddr& address, socklen_t length) {
  const auto bytes = BytesOf(address, length);
  return !bytes || IsInOne(*bytes, kLoopback) || IsInOne(*bytes, kGuarded);
}

bool MayConnect(const sockaddr& address, socklen_t length, std::string_view host) {
  if (!IsGuarded(address, length)) return true;
  const auto bytes = BytesOf(address, length);
  if (!bytes) return false;
  if (host == "localhost") return IsInOne(*bytes, kLoopback);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto named = ParseAddress(std::string(host).c_str());
  return named && WithoutTranslation(*named) == *bytes;
}

std::string AddressText(const sockaddr& address, socklen_t length) {
  const auto bytes = BytesOf(address, length);
  if (!bytes) return "an address of another kind";
  std::array<char, INET6_ADDRSTRLEN> text = {};
  const bool is_v4 = IsIn(*bytes, {"::ffff:0:0", 96});
  inet_ntop(is_v4 ? AF_INET : AF_INET6, bytes->data() + (is_v4 ? kV4 : 0), text.data(),
            text.size());
  return text.data();
}

std::string_view HostIn(std::string_view url) {
  const size_t begin = url.find("://") + 3;
  const std::string_view host = url.substr(begin, url.find('/', begin) - begin);
  const size_t port = host.rfind(':');
  return port != host.npos && host.find(']', port) == host.npos ? host.substr(0, port) : host;
}

}  // namespace zarrfs
