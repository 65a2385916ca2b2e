// The permissions of a file, reduced by those of the folders above it in the store.
//
// Paths in a mount differ from paths in the store: chunks that a mount shows in one folder may lie
// in several folders of the store, and a consolidated document repeats metadata from folders far
// below. So the mode of a file must grant others no more than its path in the store does.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/mutex.h"
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

/// The permission bits that a file with owner `uid` and group `gid` keeps below `folders`. A class
/// of users (owner, group, others) keeps its bits only if it may pass through each folder: by the
/// class's own x bit if the folder has the same owner or group, otherwise by the x bits of group
/// and others. `reader` may pass through all folders, and keeps the owner's bits.
[[nodiscard]] uint32_t ModeMask(std::span<const FolderMode> folders, uint32_t uid, uint32_t gid,
                                uint32_t reader);

/// Looks up the modes of the folders above keys, and caches them. Thread-safe.
class PathModes {
 public:
  /// The modes of the folders between the store's root (a descriptor) and the object or folder
  /// `key`. None of the folders may be a link or another mount. The result is cached until `watch`
  /// reports a change, or for one second if the folder cannot be watched or `watch` is null.
  [[nodiscard]] std::shared_ptr<const std::vector<FolderMode>> Above(int root, std::string_view key,
                                                                     FolderWatch* watch,
                                                                     AccessLists& lists);

 private:
  struct Known {
    // The distinct combinations of owner, group and mode among the folders.
    std::shared_ptr<const std::vector<FolderMode>> folders;
    // The entry is valid while the watch has this change_count(); 0 if no watch covers the folder.
    uint64_t change_count = 0;
    std::chrono::steady_clock::time_point asked;
  };
  static constexpr size_t kMaxKnown = 4096;

  Mutex mutex_;
  std::map<std::string, Known, std::less<>> known_ GUARDED_BY(mutex_);  // by folder
};

}  // namespace zarrfs
