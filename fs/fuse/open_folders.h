// OpenFolders: the folders that the kernel has open, by handle.
//
// A handle outlives the process that created it. An unknown handle was created by another process,
// so its folder is opened again; see Put(). Therefore no two processes of a mount may create the
// same handle. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "fs/tree/folder.h"
#include "zarrcore/base/mutex.h"

namespace zarrfs {

class OpenFolders {
 public:
  /// `predecessors`: the number of processes that created handles before this one.
  explicit OpenFolders(uint64_t predecessors) : next_(predecessors << kBitsOfCount) {}

  /// Returns the handle of `folder`.
  [[nodiscard]] uint64_t Add(std::shared_ptr<Folder> folder) {
    const MutexLock lock(mutex_);
    folders_.emplace(++next_, std::move(folder));
    return next_;
  }
  /// The folder of a handle; null if the handle is unknown.
  [[nodiscard]] std::shared_ptr<Folder> Find(uint64_t handle) const {
    const MutexLock lock(mutex_);
    const auto found = folders_.find(handle);
    return found == folders_.end() ? nullptr : found->second;
  }
  /// Adds `folder` for an unknown handle, and returns `folder`. If another thread has added a
  /// folder for the handle first, returns that folder instead.
  [[nodiscard]] std::shared_ptr<Folder> Put(uint64_t handle,
                                            const std::shared_ptr<Folder>& folder) {
    const MutexLock lock(mutex_);
    return folders_.try_emplace(handle, folder).first->second;
  }
  void Remove(uint64_t handle) {
    std::shared_ptr<Folder> removed;  // freed after unlocking
    const MutexLock lock(mutex_);
    if (const auto found = folders_.find(handle); found != folders_.end()) {
      removed = std::move(found->second);
      folders_.erase(found);
    }
  }

 private:
  static constexpr int kBitsOfCount = 40;

  mutable Mutex mutex_;
  uint64_t next_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, std::shared_ptr<Folder>> folders_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
