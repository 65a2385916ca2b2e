#include "fs/mount/given_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>

#include "fs/fuse/connection.h"

namespace zarrfs {

std::optional<int> GivenConnection(std::string_view mountpoint) {
  constexpr std::string_view kFolder = "/dev/fd/";
  // The device number of /dev/fuse; see the kernel's admin-guide/devices.txt.
  constexpr unsigned kMiscellaneous = 10;
  constexpr unsigned kFuse = 229;
  if (!mountpoint.starts_with(kFolder)) return std::nullopt;
  const std::string_view digits = mountpoint.substr(kFolder.size());
  int number = -1;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  struct stat info = {};
  if (fstat(number, &info) != 0 || !S_ISCHR(info.st_mode)) return std::nullopt;
  if (info.st_rdev != makedev(kMiscellaneous, kFuse)) return std::nullopt;
  return number;
}

Result<Descriptor> TakeConnection(int number) {
  Descriptor device(fcntl(number, F_DUPFD_CLOEXEC, 0));
  if (!device) return Fail(FromErrno(errno), "/dev/fd/{}: {}", number, ErrnoText(errno));
  close(number);
  if (!IsConnected(device)) {
    return Fail(ErrorCode::kInvalidArgument,
                "/dev/fd/{}: nothing is mounted with this descriptor: mount with fd={} first, or "
                "has the mount ended?",
                number, number);
  }
  // FUSE_INIT is readable from the moment of mounting. If it is not, another program has read it.
  pollfd first = {device.get(), POLLIN, 0};
  if (poll(&first, 1, 0) != 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "/dev/fd/{}: another program has already served this mount: a descriptor can be "
                "given once, so mount again",
                number);
  }
  return device;
}

}  // namespace zarrfs
