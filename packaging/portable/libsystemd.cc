// What zarrfs uses of libsystemd, of which Debian has no archive: two protocols of datagrams.
// Linked in place of -lsystemd where no library of the machine is needed (ZARRFS_STATIC).
#include <sys/socket.h>
#include <sys/un.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "zarrcore/os/descriptor.h"

namespace {

// 0, or a negative errno. `path` begins with "@" where the socket is an abstract one.
int SendTo(std::string_view path, std::string_view text) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) return -ENAMETOOLONG;
  std::ranges::copy(path, address.sun_path);
  if (path.starts_with('@')) address.sun_path[0] = '\0';
  const auto length = offsetof(sockaddr_un, sun_path) + path.size();
  const zarrfs::Descriptor to(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!to ||
      sendto(to.get(), text.data(), text.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(length)) < 0) {
    return -errno;
  }
  return 0;
}

}  // namespace

// sd_notify(3), "Standalone Implementations".
int sd_notify(int unset_environment, const char* state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return 0;
  const int code = SendTo(path, state);
  if (unset_environment != 0) unsetenv("NOTIFY_SOCKET");
  return code < 0 ? code : 1;
}

// https://systemd.io/JOURNAL_NATIVE_PROTOCOL. Longer messages than a datagram holds are refused.
int sd_journal_sendv(const iovec* fields, int count) {
  std::string text;
  for (const iovec* field = fields; field != fields + count; ++field) {
    const std::string_view line(static_cast<const char*>(field->iov_base), field->iov_len);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return -EINVAL;
    const std::string_view value = line.substr(equals + 1);
    if (value.find('\n') == std::string_view::npos) {
      text += line;
    } else {
      // The name, the length in 8 bytes (little-endian), the value.
      text += line.substr(0, equals);
      text += '\n';
      for (uint64_t rest = value.size(), byte = 0; byte < 8; ++byte, rest >>= 8) {
        text += static_cast<char>(rest & 0xff);
      }
      text += value;
    }
    text += '\n';
  }
  return SendTo("/run/systemd/journal/socket", text);
}
