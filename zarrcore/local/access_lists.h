// Access control lists of POSIX (acl(5)) on files and folders of a local store.
//
// A mount shows permissions as nine bits. Where a file has a list, its group bits are the list's
// mask: the most that any named user or group has, not what the owning group has. So the bits are
// reduced to what the list leaves to everybody in a class. What it gives to named users is not
// shown.
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

/// The permission bits that a list leaves. The owner keeps all. The group has those of the entry
/// `group::` that the mask and each named entry have, too; others those of `other::` that each
/// named entry has within the mask. Only the owner's for what is no list. `list`: the extended
/// attribute system.posix_acl_access.
[[nodiscard]] uint32_t MaskOfAccessList(std::span<const std::byte> list);

/// Reads lists. Thread-safe.
class AccessLists {
 public:
  /// Called once, with the first key whose list took a right.
  using Report = std::function<void(std::string_view key)>;
  explicit AccessLists(Report report) : report_(std::move(report)) {}

  /// The permission bits that the list of the file or folder leaves: 0777 if it has none, 0700 if
  /// it cannot be read. `fd`: it, or the folder that `below` (a path without links) starts from.
  /// `status`: the file's. `key`: for the report.
  [[nodiscard]] uint32_t MaskOf(int fd, std::string_view below, const struct stat& status,
                                std::string_view key);

 private:
  const Report report_;
  std::atomic<bool> reported_ = false;
  std::mutex mutex_;             // guards the rest
  std::set<dev_t> without_any_;  // file systems that have no lists
};

}  // namespace zarrfs
