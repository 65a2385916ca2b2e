// The permissions that the folders above a file leave to it.
//
// Paths in a mount differ from paths in the store: chunks of one folder may be in several folders
// of the store, and a consolidated document repeats metadata from far below. So a file must be no
// more accessible to others than the path to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/local/access_lists.h"
#include "zarrcore/local/folder_watch.h"

namespace zarrfs {

/// Owner and permission bits of a folder.
struct FolderMode {
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool operator==(const FolderMode&) const = default;
};

/// The permission bits that `folders` leave to a file of this owner and group. A class of users
/// (owner, group, others) keeps its bits only if each folder lets that class through: by the
/// class's own x bit if the folder has the same owner or group, else by the x bits of both group
/// and others. `reader` is let through by all folders and keeps the owner's bits.
[[nodiscard]] uint32_t ModeMask(std::span<const FolderMode> folders, uint32_t uid, uint32_t gid,
                                uint32_t reader);

/// Looks up the modes of the folders above keys, and caches them. Thread-safe.
class PathModes {
 public:
  /// The modes of the folders between the store's root (a descriptor) and the object or folder
  /// `key`, none of which may be a link or another mount. Cached until `watch` reports a change;
  /// for one second if the folder cannot be watched (or `watch` is null).
  [[nodiscard]] std::shared_ptr<const std::vector<FolderMode>> Above(int root, std::string_view key,
                                                                     FolderWatch* watch,
                                                                     AccessLists& lists);

 private:
  struct Known {
    std::shared_ptr<const std::vector<FolderMode>> folders;  // without repetition
    uint64_t change_count = 0;  // of `watch`, while it is current; 0 if not watched
    std::chrono::steady_clock::time_point asked;
  };
  static constexpr size_t kMaxKnown = 4096;

  std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;  // by folder
};

}  // namespace zarrfs
