// Opens and inspects files. Never leaves a folder, follows a link or waits for a mount.
#pragma once

#include <linux/openat2.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Calls openat2(2), which glibc does not wrap, with O_CLOEXEC. Returns an empty descriptor, with
/// errno set, on failure.
[[nodiscard]] Descriptor OpenAt2(int folder, const char* path, uint64_t flags, uint64_t resolve);

/// Opens exactly the file of `fd` (O_PATH), even if its name now leads to another file. So a caller
/// that has checked for a regular file never opens a FIFO or device in its place. Returns an empty
/// descriptor, with errno set, on failure; errno is never ENOENT.
[[nodiscard]] Descriptor Reopen(int fd, uint64_t flags);

/// Resolve flags for OpenAt2(): never leave the folder.
inline constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
/// Resolve flags for OpenAt2(): never leave the folder, follow a symbolic link or enter another
/// mount.
inline constexpr uint64_t kDirectly = kBeneath | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;

struct FileId {
  dev_t device = 0;
  uint64_t inode = 0;

  bool operator==(const FileId&) const = default;
};

/// The kernel's cached attributes of a file or folder. The file system receives no request, so even
/// a mount that this process serves can be inspected. Permissions may be out of date.
struct Glance {
  FileId id;
  uint32_t mode = 0;  // file type and permissions
  uint32_t uid = 0;
  uint32_t gid = 0;
};

/// Inspects `name` in `folder`, or the descriptor itself for "". Follows no symbolic link and
/// triggers no automount. nullopt, with errno set, on failure.
[[nodiscard]] std::optional<Glance> GlanceAt(int folder, const char* name = "");

/// The target of the symbolic link `name` in `folder`. For "", `folder` itself must be the link.
/// nullopt, with errno set, on failure; EINVAL if it is not a link.
[[nodiscard]] std::optional<std::string> ReadLinkAt(int folder, const char* name = "");

}  // namespace zarrfs
