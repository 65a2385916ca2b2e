// Opening and inspecting files without leaving a folder, following links or waiting for a mount.
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

/// Opens the very file that `fd`, of O_PATH, was opened for, whatever has its name by now: who has
/// seen that it is a regular file opens no FIFO or device in its place. Empty, with errno set, on
/// failure; never ENOENT.
[[nodiscard]] Descriptor Reopen(int fd, uint64_t flags);

/// `resolve` for OpenAt2(): never leaves the folder.
inline constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
/// And neither follows a symbolic link nor enters another mount.
inline constexpr uint64_t kDirectly = kBeneath | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;

struct FileId {
  dev_t device = 0;
  uint64_t inode = 0;

  bool operator==(const FileId&) const = default;
};

/// What the kernel has cached about a file or folder: no request goes to its file system. That
/// makes it safe even for a mount that this very process serves; permissions may be out of date.
struct Glance {
  FileId id;
  uint32_t mode = 0;  // file type and permissions
  uint32_t uid = 0;
  uint32_t gid = 0;
};

/// Glances at `name` in `folder`, or at the descriptor itself for "". Follows no symbolic link and
/// triggers no automount. nullopt, with errno set, on failure.
[[nodiscard]] std::optional<Glance> GlanceAt(int folder, const char* name = "");

/// The target of the symbolic link `name` in `folder`, or of the link that `folder` itself is for
/// "". nullopt, with errno set, on failure; EINVAL: it is no link.
[[nodiscard]] std::optional<std::string> ReadLinkAt(int folder, const char* name = "");

}  // namespace zarrfs
