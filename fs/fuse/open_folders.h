// OpenFolders: the folders that the kernel has open, by handle.
//
// A handle outlives the process that created it: an unknown one is from another process, and its
// folder is opened again (Put). So no two processes of a mount use the same numbers. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "fs/tree/folder.h"

namespace zarrfs {

class OpenFolders {
 public:
  /// `predecessors`: number of processes that created handles before this one.
  explicit OpenFolders(uint64_t predecessors) : next_(predecessors << kBitsOfCount) {}

  [[nodiscard]] uint64_t Add(std::shared_ptr<Folder> folder) {
    const std::lock_guard lock(mutex_);
    folders_.emplace(++next_, std::move(folder));
    return next_;
  }
  /// Null if the handle is unknown.
  [[nodiscard]] std::shared_ptr<Folder> Find(uint64_t handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = folders_.find(handle);
    return found == folders_.end() ? nullptr : found->second;
  }
  /// Returns the folder of the handle: `folder`, or the one that another thread has put first.
  [[nodiscard]] std::shared_ptr<Folder> Put(uint64_t handle,
                                            const std::shared_ptr<Folder>& folder) {
    const std::lock_guard lock(mutex_);
    return folders_.try_emplace(handle, folder).first->second;
  }
  void Remove(uint64_t handle) {
    std::shared_ptr<Folder> removed;  // freed after unlocking
    const std::lock_guard lock(mutex_);
    if (const auto found = folders_.find(handle); found != folders_.end()) {
      removed = std::move(found->second);
      folders_.erase(found);
    }
  }

 private:
  static constexpr int kBitsOfCount = 40;

  mutable std::mutex mutex_;  // guards the rest
  uint64_t next_;
  std::unordered_map<uint64_t, std::shared_ptr<Folder>> folders_;
};

}  // namespace zarrfs
