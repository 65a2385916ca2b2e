// Opens and inspects files without leaving a folder, following links or waiting for a mount.
#pragma once

#include <linux/openat2.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// openat2(2), which glibc does not wrap, with O_CLOEXEC. Empty, with errno set, on failure.
[[nodiscard]] Descriptor OpenAt2(int folder, const char* path, uint64_t flags, uint64_t resolve);

/// Opens exactly the file for which `fd` (O_PATH) was opened, even if its name has another file by
/// now: a caller that has checked for a regular file never opens a FIFO or device in its place.
/// Empty, with errno set, on failure; never ENOENT.
[[nodiscard]] Descriptor Reopen(int fd, uint64_t flags);

/// `resolve` for OpenAt2(): never leaves the folder.
inline constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
/// Also neither follows a symbolic link nor enters another mount.
inline constexpr uint64_t kDirectly = kBeneath | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;

struct FileId {
  dev_t device = 0;
  uint64_t inode = 0;

  bool operator==(const FileId&) const = default;
};

/// The kernel's cached attributes of a file or folder: its file system gets no request. So it is
/// safe even for a mount that this process serves; permissions may be out of date.
struct Glance {
  FileId id;
  uint32_t mode = 0;  // file type and permissions
  uint32_t uid = 0;
  uint32_t gid = 0;
};

/// Glances at `name` in `folder`, or at the descriptor itself for "". Follows no symbolic link and
/// triggers no automount. nullopt, with errno set, on failure.
[[nodiscard]] std::optional<Glance> GlanceAt(int folder, const char* name = "");

/// The target of the symbolic link `name` in `folder`, or, for "", of the link that `folder` itself
/// is. nullopt, with errno set, on failure; EINVAL: it is not a link.
[[nodiscard]] std::optional<std::string> ReadLinkAt(int folder, const char* name = "");

}  // namespace zarrfs
