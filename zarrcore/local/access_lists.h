// POSIX access control lists (acl(5)) on files and folders of a local store.
//
// A mount shows only nine permission bits. If a file has an access control list, its group bits are
// the mask of the list: the maximum for all named users and all groups, not the rights of the
// owning group. So the bits are reduced to the rights that every user of a class has. Additional
// rights of named users are not shown.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/mutex.h"

namespace zarrfs {

/// Returns the permission bits that an access control list grants. The owner keeps all bits. The
/// group has the bits of the entry `group::` that the mask and every named entry also grant. Others
/// have the bits of `other::` that every named entry also grants within the mask. An invalid list
/// leaves only the owner's bits. `list`: the extended attribute system.posix_acl_access.
[[nodiscard]] uint32_t MaskOfAccessList(std::span<const std::byte> list);

/// Reads access control lists, and reports the first list that removes a right. Thread-safe.
class AccessLists {
 public:
  /// Called once, with the key of the first file or folder whose list removed a right.
  using Report = std::function<void(std::string_view key)>;
  explicit AccessLists(Report report) : report_(std::move(report)) {}

  /// The permission bits that the access control list of a file or folder grants: 0777 if it has no
  /// list, 0700 if the list cannot be read. `fd`: the file itself if `below` is empty, otherwise a
  /// folder. `below`: the path of the file in that folder, without links. `status`: the status of
  /// the file. `key`: the key for the report.
  [[nodiscard]] uint32_t MaskOf(int fd, std::string_view below, const struct stat& status,
                                std::string_view key);

 private:
  const Report report_;
  std::atomic<bool> reported_ = false;
  Mutex mutex_;
  std::set<dev_t> without_any_ GUARDED_BY(mutex_);  // file systems without access control lists
};

}  // namespace zarrfs
