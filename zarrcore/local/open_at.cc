#include "zarrcore/local/open_at.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <climits>

namespace zarrfs {

Descriptor OpenAt2(int folder, const char* path, uint64_t flags, uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  // EAGAIN means that a rename happened while ".." was resolved, so the kernel does not know
  // whether the path stayed beneath the folder.
  for (int tries = 0;; ++tries) {
    const long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (fd >= 0) return Descriptor(static_cast<int>(fd));
    if (errno != EINTR && (errno != EAGAIN || tries >= 32)) return {};
  }
}

Descriptor Reopen(int fd, uint64_t flags) {
  std::array<char, 32> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/self/fd/{}", fd);
  for (;;) {
    Descriptor opened(open(path.data(), static_cast<int>(flags) | O_CLOEXEC));
    if (opened || errno != EINTR) {
      // ENOENT means that /proc is missing, not the file.
      if (!opened && errno == ENOENT) errno = EIO;
      return opened;
    }
  }
}

std::optional<Glance> GlanceAt(int folder, const char* name) {
  struct statx status;
  const int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  constexpr unsigned kWanted =
      // The device needs no flag, because statx() always returns it.
      STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_INO;
  if (statx(folder, name, flags, kWanted, &status) != 0) return std::nullopt;
  return Glance{{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino},
                status.stx_mode,
                status.stx_uid,
                status.stx_gid};
}

std::optional<std::string> ReadLinkAt(int folder, const char* name) {
  std::array<char, PATH_MAX> target;
  const ssize_t length = readlinkat(folder, name, target.data(), target.size());
  if (length < 0) return std::nullopt;
  return std::string(target.data(), static_cast<size_t>(length));
}

}  // namespace zarrfs
