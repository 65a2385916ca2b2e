// The permissions that the folders above a file leave to it.
//
// Readers of a mount go by other paths than the store's: chunks of one folder lie in several
// folders of the store, and a consolidated document repeats what lies far below. So a file is as
// closed to others as the way to it.
#ifndef ZARRCORE_STORE_PATH_MODES_H_
#define ZARRCORE_STORE_PATH_MODES_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/store/folder_watch.h"

namespace zarrfs {

/// Owner and permission bits of a folder.
struct FolderMode {
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool operator==(const FolderMode&) const = default;
};

/// The permission bits that remain of a file of this owner and group. A class of users (owner,
/// group, others) keeps its bits only if each folder lets that class through: by its own x bit
/// where owner or group are the same, else by the x bits of both group and others. This process's
/// user keeps the owner's bits: it did get there.
[[nodiscard]] uint32_t ModeMask(std::span<const FolderMode> folders, uint32_t uid, uint32_t gid);

/// Looks the folders of keys up, and remembers them. Thread-safe.
class PathModes {
 public:
  /// Of the folders between the store's root, a descriptor, and the object or folder `key`; none of
  /// them is a link or another mount. Current as far as `watch` tells, else for a second (null: the
  /// store is not watched).
  [[nodiscard]] std::shared_ptr<const std::vector<FolderMode>> Above(int root, std::string_view key,
                                                                     FolderWatch* watch);

 private:
  struct Known {
    std::shared_ptr<const std::vector<FolderMode>> folders;  // different ones
    uint64_t change_count = 0;  // while which it is current; 0 if that is not known
    std::chrono::steady_clock::time_point asked;
  };
  static constexpr size_t kMaxKnown = 4096;

  std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;  // by folder
};

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_PATH_MODES_H_
