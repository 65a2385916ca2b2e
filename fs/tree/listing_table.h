// ListingTable: which listings that the kernel holds are current.
//
// The kernel caches a listing, and drops it when the folder is opened again, unless the reply says
// that it is still current. That is known if all of it came from handles that were opened, and
// read, while the store's change_count() was what it is now.
// Thread-safe.
#ifndef FS_TREE_LISTING_TABLE_H_
#define FS_TREE_LISTING_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace zarrfs {

class ListingTable {
 public:
  /// The folder is opened while change_count() is `count` (0: unknown). True if the
  /// listing that the kernel holds is current. Each Open() is followed by a Close().
  [[nodiscard]] bool Open(uint64_t folder, uint64_t count) {
    const std::lock_guard lock(mutex_);
    if (folders_.size() >= kMaxFolders && !folders_.contains(folder)) {
      std::erase_if(folders_, [](const auto& entry) { return entry.second.handles == 0; });
    }
    Folder& state = folders_[folder];
    if (state.handles++ == 0) {
      state.is_mixed = false;
      state.opened = count;
    } else if (state.opened != count) {
      state.is_mixed = true;
    }
    if (state.is_mixed || state.current != count) state.current = 0;
    return state.current != 0;
  }

  /// `is_current`: all that the handle listed holds while change_count() is `count`, the
  /// one it was opened with.
  void Close(uint64_t folder, uint64_t count, bool is_current) {
    const std::lock_guard lock(mutex_);
    const auto found = folders_.find(folder);
    if (found == folders_.end()) return;
    Folder& state = found->second;
    if (!is_current) {
      state.is_mixed = true;
      state.current = 0;
    } else if (!state.is_mixed) {
      state.current = count;
    }
    if (--state.handles == 0 && state.current == 0) folders_.erase(found);
  }

 private:
  static constexpr size_t kMaxFolders = 4096;  // that no handle is open of
  struct Folder {
    uint32_t handles = 0;
    bool is_mixed = false;  // something was listed that holds for another count, or for none
    uint64_t opened = 0;    // count of the first of the handles
    uint64_t current = 0;   // while change_count() is this, what the kernel holds is current
  };
  std::mutex mutex_;
  std::unordered_map<uint64_t, Folder> folders_;
};

}  // namespace zarrfs

#endif  // FS_TREE_LISTING_TABLE_H_
