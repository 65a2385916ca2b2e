#include "zarrcore/local/path_modes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "zarrcore/store/store.h"

namespace zarrfs {
namespace {

constexpr std::chrono::seconds kCurrentFor{1};

}  // namespace

uint32_t ModeMask(std::span<const FolderMode> folders, uint32_t uid, uint32_t gid,
                  uint32_t reader) {
  uint32_t mask = 0777;
  for (const FolderMode& folder : folders) {
    const bool lets_all_through = (folder.mode & 0011) == 0011;
    const bool lets_owner_through =
        uid == reader || (folder.uid == uid ? (folder.mode & 0100) != 0 : lets_all_through);
    const bool lets_group_through =
        folder.gid == gid ? (folder.mode & 0010) != 0 : lets_all_through;
    if (!lets_owner_through) mask &= ~0700U;
    if (!lets_group_through) mask &= ~0070U;
    if (!lets_all_through) mask &= ~0007U;
  }
  return mask;
}

std::shared_ptr<const std::vector<FolderMode>> PathModes::Above(int root, std::string_view key,
                                                                FolderWatch* watch,
                                                                AccessLists& lists) {
  const std::string_view folder = FolderOf(key);
  const auto now = std::chrono::steady_clock::now();
  {
    const MutexLock lock(mutex_);
    const auto known = known_.find(folder);
    if (known != known_.end()) {
      const uint64_t count = known->second.change_count;
      const bool is_current = count != 0 ? watch != nullptr && watch->change_count() == count
                                         : now - known->second.asked < kCurrentFor;
      if (is_current) return known->second.folders;
    }
  }
  // Get the change count before the lookups, so later changes invalidate the result.
  const uint64_t count = watch != nullptr ? watch->Watch(folder) : 0;
  auto folders = std::make_shared<std::vector<FolderMode>>();
  std::string path;
  for (size_t end = 0; end < folder.size(); ++end) {
    end = std::min(folder.find('/', end), folder.size());
    path.assign(folder.substr(0, end));
    struct stat status;
    // If the mode of the folder is unknown, only `reader` of ModeMask() may pass through it.
    FolderMode mode{0, ~0U, ~0U};
    if (fstatat(root, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      const uint32_t mask = lists.MaskOf(root, path, status, path);
      mode = {status.st_mode & 0777U & mask, status.st_uid, status.st_gid};
    }
    if (std::ranges::find(*folders, mode) == folders->end()) folders->push_back(mode);
  }
  const MutexLock lock(mutex_);
  if (known_.size() >= kMaxKnown) known_.clear();
  known_.insert_or_assign(std::string(folder), Known{folders, count, now});
  return folders;
}

}  // namespace zarrfs
