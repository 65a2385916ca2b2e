#include "zarrcore/net/guarded_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/un.h>

#include <string>
#include <utility>
#include <vector>

namespace zarrfs::guarded_address_test {
namespace {

// Calls `ask` with the address `text`.
template <typename Ask>
auto With(const std::string& text, const Ask& ask) {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    return ask(reinterpret_cast<const sockaddr&>(v4), socklen_t{sizeof v4});
  }
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr), 1) << text;
  return ask(reinterpret_cast<const sockaddr&>(v6), socklen_t{sizeof v6});
}

bool Guarded(const std::string& text) { return With(text, IsGuarded); }
bool May(const std::string& address, const std::string& host) {
  return With(address,
              [&](const sockaddr& of, socklen_t length) { return MayConnect(of, length, host); });
}

TEST(GuardedAddressTest, AreThisMachineItsLinksAndServicesOfClouds) {
  for (const char* const text :
       {"127.0.0.1", "127.255.0.9", "0.0.0.0", "0.1.2.3", "::", "::1", "169.254.169.254",
        "169.254.170.2", "fe80::1", "febf::1", "fd00:ec2::254", "fd20:ce::254",
        "fd00:c1::a9fe:a9fe", "168.63.129.16", "100.100.100.200", "192.0.0.192", "ff02::1",
        // Guarded addresses in other forms.
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::169.254.169.254",
        "::ffff:0:127.0.0.1"}) {
    EXPECT_TRUE(Guarded(text)) << text;
  }
  for (const char* const text :
       {"126.255.255.255", "128.0.0.1", "1.0.0.0", "10.0.0.1", "192.168.1.1", "169.253.0.1",
        "169.255.0.1", "168.63.129.17", "2001:db8::1", "fec0::1", "fd00:ec3::254", "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8"}) {
    EXPECT_FALSE(Guarded(text)) << text;
  }
  const sockaddr_un local{.sun_family = AF_UNIX, .sun_path = {}};
  EXPECT_TRUE(IsGuarded(reinterpret_cast<const sockaddr&>(local), sizeof local));
  const sockaddr_in v4{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
  EXPECT_TRUE(IsGuarded(reinterpret_cast<const sockaddr&>(v4), sizeof v4 - 1)) << "cut off";
}

TEST(GuardedAddressTest, AreConnectedToOnlyIfTheHostNamesThem) {
  const std::vector<std::pair<std::string, std::string>> named = {
      {"127.0.0.1", "127.0.0.1"},
      {"127.0.0.1", "localhost"},
      {"::1", "localhost"},
      {"::1", "[::1]"},
      {"::1", "[0:0:0:0:0:0:0:1]"},
      {"169.254.169.254", "169.254.169.254"},
      {"fd00:ec2::254", "[fd00:ec2::254]"},
      {"::ffff:127.0.0.1", "127.0.0.1"},
      {"93.184.215.14", "data.example"},
      {"10.0.0.1", "data.example"}};
  for (const auto& [address, host] : named) EXPECT_TRUE(May(address, host)) << address << host;
  const std::vector<std::pair<std::string, std::string>> others = {
      {"127.0.0.1", "data.example"},    {"127.0.0.1", "127.0.0.2"},
      {"127.0.0.1", "127.1"},           {"127.0.0.1", "2130706433"},
      {"127.0.0.1", "0x7f.0.0.1"},      {"127.0.0.1", ""},
      {"169.254.169.254", "localhost"}, {"::1", "[::2]"},
      {"::1", "localhost.example"},     {"fe80::1", "data.example"},
      {"0.0.0.0", "localhost"}};
  for (const auto& [address, host] : others) EXPECT_FALSE(May(address, host)) << address << host;
}

TEST(GuardedAddressTest, HostIsWhatStandsBetweenSchemeAndPort) {
  EXPECT_EQ(HostIn("https://data.example:8443/a:1/b"), "data.example");
  EXPECT_EQ(HostIn("http://data.example"), "data.example");
  EXPECT_EQ(HostIn("http://[::1]:80/a"), "[::1]");
  EXPECT_EQ(HostIn("http://[::1]/a"), "[::1]");
}

TEST(GuardedAddressTest, AreShownInNumbers) {
  EXPECT_EQ(With("::ffff:127.0.0.1", AddressText), "127.0.0.1");
  EXPECT_EQ(With("169.254.169.254", AddressText), "169.254.169.254");
  EXPECT_EQ(With("fd00:ec2::254", AddressText), "fd00:ec2::254");
}

}  // namespace
}  // namespace zarrfs::guarded_address_test
