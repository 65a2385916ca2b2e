#include "fs/mount/keeper_name.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

namespace zarrfs {
namespace {

std::string BeginOfName(dev_t mount) {
  return fmt::format("zarrfs-keeper/{}:{}/", major(mount), minor(mount));
}

}  // namespace

Descriptor NameKeeper(dev_t mount) {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  const std::string name = BeginOfName(mount) + std::to_string(getpid());
  // The leading 0 byte marks an abstract name, which does not appear in the file system.
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const size_t size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  if (!socket || bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                      static_cast<socklen_t>(size)) != 0) {
    return {};
  }
  return socket;
}

std::vector<pid_t> KeepersIn(std::string_view sockets, dev_t mount) {
  constexpr size_t kMax = 16;
  const std::string begin = " @" + BeginOfName(mount);
  std::vector<pid_t> keepers;
  for (size_t at = sockets.find(begin); at != sockets.npos && keepers.size() < kMax;
       at = sockets.find(begin, at)) {
    at += begin.size();
    const size_t end = std::min(sockets.find('\n', at), sockets.size());
    pid_t pid = 0;
    const auto [stop, error] = std::from_chars(sockets.data() + at, sockets.data() + end, pid);
    if (error == std::errc() && stop == sockets.data() + end && pid > 0) keepers.push_back(pid);
  }
  return keepers;
}

std::vector<pid_t> NamedKeepers(dev_t mount) {
  std::ifstream file("/proc/net/unix");
  return KeepersIn(std::string{std::istreambuf_iterator<char>(file), {}}, mount);
}

}  // namespace zarrfs
