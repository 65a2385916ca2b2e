// FolderWatch: notices changes below a local directory, with inotify(7).
//
// Folders are watched individually, on demand, up to a limit. Further folders are not watched, so a
// store with more folders than watches keeps its cached answers. Once a folder has waited for a
// watch for an hour, the oldest eighth of the watches on chunk folders is dropped and reported as
// unwatched. The folders on the path of the directory itself are watched too: another directory may
// be put in its place.
//
// Mounting or unmounting a file system inside the directory replaces the folders below: all watches
// are dropped, and everything is reported as changed.
//
// Folders behind a symbolic link or on another file system are not watched, nor are folders for
// which the kernel has no watches left (reported once): Watch() returns 0 for them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"

struct inotify_event;

namespace zarrfs {

/// The maximum number of watched folders.
struct WatchLimit {
  size_t folders = 16384;
  /// How long a folder waits for a watch before others are dropped.
  std::chrono::nanoseconds patience = std::chrono::hours(1);

  /// The share of the kernel's limit for this user (fs.inotify.max_user_watches) that one store may
  /// use: three quarters if the user has no other processes (`is_alone`), else half.
  [[nodiscard]] static WatchLimit OfUser(bool is_alone);
};

class FolderWatch {
 public:
  /// Opens a folder by its key with O_PATH, following no symbolic link and entering no other file
  /// system. Empty, with errno set, on failure.
  using OpenFolder = std::function<Descriptor(const std::string& key)>;
  /// Called once with one line for the log: why some folders are not watched.
  using Report = std::function<void(std::string_view)>;

  /// `path`: of the directory, absolute; empty to not watch the path. A thread of the watch calls
  /// the listener until the watch is destroyed. `more`: changes to objects of this name are
  /// reported in addition to names that Zarr uses. kUnsupported if the kernel provides no inotify
  /// instance.
  static Result<std::unique_ptr<FolderWatch>> Start(std::string path, OpenFolder open_folder,
                                                    ChangeListener listener, Report report,
                                                    WatchLimit limit = {}, std::string more = {});
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  /// As Store::Watch and Store::change_count.
  [[nodiscard]] uint64_t Watch(std::string_view folder);
  /// As Store::WatchAllNames.
  [[nodiscard]] uint64_t WatchAllNames(std::string_view folder);
  [[nodiscard]] uint64_t change_count() const { return count_.load(std::memory_order_acquire); }
  /// As Store::watch_state.
  [[nodiscard]] WatchState state() const;

 private:
  static constexpr auto kNobody = std::chrono::steady_clock::time_point::max();

  FolderWatch(std::string path, OpenFolder open_folder, ChangeListener listener, Report report,
              WatchLimit limit, std::string more);
  // The caller holds the mutex by `lock`, which is released while memory is reserved.
  uint64_t Watch(std::unique_lock<std::mutex>& lock, const std::string& folder);
  bool AddLocked(const std::string& folder, bool& absent);
  // Whether an event of an object (not a folder) can change an answer.
  bool ConcernsLocked(const std::string& folder, const inotify_event& event,
                      std::string_view name) const;
  // Whether another watch may be added; drops others if that was impossible for long.
  bool HasRoom(std::unique_lock<std::mutex>& lock);
  void EvictLocked();
  void ReportLimitLocked(const char* reason);
  // As in WatchState.
  std::string LimitLocked() const;
  void StartOverLocked();
  void WatchPath();
  void Run();
  // Waits for changes and reports them; false at the end.
  bool Step();
  void Wake() const;
  // True if something changed, with the changes in `changes`. Sets `start_over` if the watched
  // paths may lead to other folders now.
  bool ReadEvents(Changes& changes, bool& start_over);
  bool ReadPathEvents();
  // The mounts in the directory: id and path. Empty if that is unknown.
  [[nodiscard]] std::vector<std::pair<uint64_t, std::string>> MountsInside() const;
  std::pair<uint64_t, uint64_t> IdentityOfPath() const;

  const std::string path_;
  const OpenFolder open_folder_;
  const ChangeListener listener_;
  const Report report_;
  const WatchLimit most_;
  const std::string more_;  // "" if there is none
  std::atomic<uint64_t> count_{1};

  struct Watched {
    int watch;
    uint64_t order;  // in which the folders were watched
    bool all_names = false;
  };
  mutable std::mutex mutex_;  // guards the next ten
  Descriptor folders_fd_;
  std::unordered_map<std::string, Watched> by_folder_;
  std::unordered_map<int, std::string> by_watch_;
  uint64_t next_order_ = 0;
  MemoryBudget::Share memory_;        // of the watches, here and in the kernel
  std::vector<std::string> evicted_;  // to be reported by the thread
  std::chrono::steady_clock::time_point waiting_since_ = kNobody;  // of the first folder
  const char* limit_ = nullptr;  // why further folders are not watched; null if they are
  bool limit_reported_ = false;
  std::chrono::steady_clock::time_point try_again_;  // after the kernel had run out of watches

  // Used by the watch's thread only.
  Descriptor path_fd_;
  std::unordered_map<int, std::string>
      path_names_;  // by watch: the next components, "/a/b/" if several
  bool path_is_watched_ = false;
  std::pair<uint64_t, uint64_t> identity_;                // device and inode found at `path_`
  Descriptor mounts_fd_;                                  // of the kernel's table
  std::vector<std::pair<uint64_t, std::string>> mounts_;  // MountsInside()
  Descriptor wake_fd_;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace zarrfs
