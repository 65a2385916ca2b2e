// Guarded addresses: addresses of services that trust every client that can connect. A request for
// a virtual chunk must not reach a guarded address by a host name, because the owner of a name can
// change its address at any time. So the address is checked when a connection is made.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

namespace zarrfs {

/// True if `address` is loopback, unspecified, link-local, broadcast, multicast, or a cloud's
/// metadata service, including an IPv4 address inside an IPv6 address. Also true if `address` is
/// not an internet address.
[[nodiscard]] bool IsGuarded(const sockaddr& address, socklen_t length);

/// True if a request for a URL with host `host` ("host", "127.0.0.1", "[::1]") may connect to
/// `address`. It may if `address` is not guarded, if `host` is the same address, or if `host` is
/// "localhost" and `address` is loopback.
[[nodiscard]] bool MayConnect(const sockaddr& address, socklen_t length, std::string_view host);

/// Returns `address` in numeric form, for messages.
[[nodiscard]] std::string AddressText(const sockaddr& address, socklen_t length);

/// Returns the host of a URL, without the port. An IPv6 address keeps its brackets.
[[nodiscard]] std::string_view HostIn(std::string_view url);

}  // namespace zarrfs
