// POSIX access control lists (acl(5)) on files and folders of a local store.
//
// A mount shows permissions as nine bits. If a file has a list, its group bits are the list's mask:
// the maximum of any named user or group, not the rights of the owning group. So the bits are
// reduced to the rights that everybody in a class has. Rights of named users are not shown.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace zarrfs {

/// The permission bits that a list grants. The owner keeps all. The group has the bits of the entry
/// `group::` that the mask and every named entry grant, too; others have the bits of `other::` that
/// every named entry grants within the mask. An invalid list leaves only the owner's bits. `list`:
/// the extended attribute system.posix_acl_access.
[[nodiscard]] uint32_t MaskOfAccessList(std::span<const std::byte> list);

/// Reads lists. Thread-safe.
class AccessLists {
 public:
  /// Called once, with the first key whose list removed a right.
  using Report = std::function<void(std::string_view key)>;
  explicit AccessLists(Report report) : report_(std::move(report)) {}

  /// The permission bits that the list of the file or folder grants: 0777 if it has none, 0700 if
  /// it cannot be read. `fd`: the file itself, or the folder from which `below` (a path without
  /// links) starts. `status`: the file's. `key`: for the report.
  [[nodiscard]] uint32_t MaskOf(int fd, std::string_view below, const struct stat& status,
                                std::string_view key);

 private:
  const Report report_;
  std::atomic<bool> reported_ = false;
  std::mutex mutex_;             // guards the rest
  std::set<dev_t> without_any_;  // file systems without access control lists
};

}  // namespace zarrfs
