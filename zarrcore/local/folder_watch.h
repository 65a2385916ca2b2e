// FolderWatch: notices changes below a local directory, with inotify(7).
//
// Folders are watched individually, on demand, up to a limit. Folders beyond the limit are not
// watched at first, so cached answers about watched folders stay valid. After a folder has waited
// an hour for a watch, the oldest watches on chunk folders are dropped, up to an eighth of the
// limit, and these folders are reported as unwatched. The folders on the directory's own path are
// also watched, because another directory may take its place.
//
// Mounting or unmounting a file system inside the directory replaces folders, so all watches are
// dropped and everything is reported as changed.
//
// Watch() returns 0 for folders that are not watched: folders behind a symbolic link, on another
// file system, or beyond the limit of this watch or of the kernel. Reaching a limit is reported
// only the first time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/store/store.h"

struct inotify_event;

namespace zarrfs {

/// Limits the number of watched folders.
struct WatchLimit {
  size_t folders = 16384;
  /// How long a folder waits for a watch before other watches are dropped.
  std::chrono::nanoseconds patience = std::chrono::hours(1);

  /// The number of watches that one store may use: three quarters of the kernel's limit for this
  /// user (fs.inotify.max_user_watches) if the user has no other processes (`is_alone`), otherwise
  /// half.
  [[nodiscard]] static WatchLimit OfUser(bool is_alone);
};

class FolderWatch {
 public:
  /// Opens a folder by its key with O_PATH, following no symbolic link and entering no other file
  /// system. Returns an empty descriptor, with errno set, on failure.
  using OpenFolder = std::function<Descriptor(const std::string& key)>;
  /// Called at most once, with a message for the log that says why some folders are not watched.
  using Report = std::function<void(std::string_view)>;

  /// Starts to watch a directory. `path`: the absolute path of the directory. If `path` is empty,
  /// the folders on the path are not watched. A thread of the watch calls the listener until the
  /// watch is destroyed. `more`: a name of objects to watch in addition to the names that Zarr
  /// uses. kUnsupported if no inotify instance can be created.
  static Result<std::unique_ptr<FolderWatch>> Start(std::string path, OpenFolder open_folder,
                                                    ChangeListener listener, Report report,
                                                    WatchLimit limit = {}, std::string more = {});
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  /// See Store::Watch() and Store::change_count().
  [[nodiscard]] uint64_t Watch(std::string_view folder);
  /// See Store::WatchAllNames().
  [[nodiscard]] uint64_t WatchAllNames(std::string_view folder);
  [[nodiscard]] uint64_t change_count() const { return count_.load(std::memory_order_acquire); }
  /// See Store::watch_state().
  [[nodiscard]] WatchState state() const;

 private:
  static constexpr auto kNobody = std::chrono::steady_clock::time_point::max();

  FolderWatch(std::string path, OpenFolder open_folder, ChangeListener listener, Report report,
              WatchLimit limit, std::string more);
  // Watches a folder. `lock` holds mutex_, and releases it while memory is reserved.
  uint64_t Watch(MutexLock& lock, const std::string& folder) REQUIRES(mutex_);
  bool AddLocked(const std::string& folder, bool& absent) REQUIRES(mutex_);
  // True if an event for an object, not for a folder, can change a cached answer.
  bool ConcernsLocked(const std::string& folder, const inotify_event& event,
                      std::string_view name) const REQUIRES(mutex_);
  // True if another watch may be added. If folders have waited for WatchLimit::patience, drops
  // other watches first.
  bool HasRoom(MutexLock& lock) REQUIRES(mutex_);
  void EvictLocked() REQUIRES(mutex_);
  void ReportLimitLocked(const char* reason) REQUIRES(mutex_);
  // Describes the limit of watches for messages; see WatchState.
  std::string LimitLocked() const REQUIRES(mutex_);
  void StartOverLocked() REQUIRES(mutex_);
  void WatchPath();
  void Run();
  // Waits for changes and reports them. False if the thread must exit.
  bool Step();
  void Wake() const;
  // Reads events, and adds the changes to `changes`. True if something changed. Sets `start_over`
  // if the watched paths may now lead to other folders.
  bool ReadEvents(Changes& changes, bool& start_over);
  bool ReadPathEvents();
  // The ids and paths of the mounts inside the directory. Empty if they are unknown.
  [[nodiscard]] std::vector<std::pair<uint64_t, std::string>> MountsInside() const;
  std::pair<uint64_t, uint64_t> IdentityOfPath() const;

  const std::string path_;
  const OpenFolder open_folder_;
  const ChangeListener listener_;
  const Report report_;
  const WatchLimit most_;
  const std::string more_;  // a name of objects that are watched, too; "" for none
  std::atomic<uint64_t> count_{1};

  struct Watched {
    int watch;
    uint64_t order;  // increases with each new watch; EvictLocked() drops the oldest
    bool all_names = false;
  };
  // Only the watch's thread replaces this descriptor, with the mutex held. That thread may read it
  // without the mutex.
  Descriptor folders_fd_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, Watched> by_folder_ GUARDED_BY(mutex_);
  std::unordered_map<int, std::string> by_watch_ GUARDED_BY(mutex_);
  uint64_t next_order_ GUARDED_BY(mutex_) = 0;
  // The reservation for the memory of all watches, in this process and in the kernel.
  MemoryBudget::Share memory_ GUARDED_BY(mutex_);
  // Folders whose watches were dropped. The watch's thread must still report them as unwatched.
  std::vector<std::string> evicted_ GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point waiting_since_ GUARDED_BY(mutex_) =
      kNobody;  // when the first folder was refused a watch; kNobody if no folder is waiting
  const char* limit_ GUARDED_BY(mutex_) =
      nullptr;  // why no more folders are watched; null if no limit was reached
  bool limit_reported_ GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point try_again_
      GUARDED_BY(mutex_);  // when to try again after the kernel ran out of watches

  // Only the watch's thread uses the members below.
  Descriptor path_fd_;
  std::unordered_map<int, std::string>
      // For each watch, the names that a lookup of path_ needs in that folder, as "/a/" or "/a/b/".
      path_names_;
  bool path_is_watched_ = false;
  std::pair<uint64_t, uint64_t> identity_;                // the device and inode found at `path_`
  Descriptor mounts_fd_;                                  // the kernel's mount table
  std::vector<std::pair<uint64_t, std::string>> mounts_;  // the last result of MountsInside()
  Descriptor wake_fd_;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace zarrfs
