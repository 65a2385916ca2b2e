// LocalFiles: the state that a local store shares with its objects: the root folder, and the cache
// of open descriptors. Objects may outlive their store.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/base/clocks.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/local/folder_watch.h"
#include "zarrcore/local/mounted_devices.h"
#include "zarrcore/local/open_at.h"
#include "zarrcore/local/path_walk.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

[[nodiscard]] tl::unexpected<Error> FailWithErrno(std::string_view key, int error_number);

/// A cached open descriptor of an object.
struct OpenFile {
  explicit OpenFile(Descriptor descriptor) : fd(std::move(descriptor)) {}

  const Descriptor fd;
  mutable std::atomic<int64_t> read_ns = CoarseNowNs();
};

/// An open file or folder of the store.
struct Opened {
  Descriptor fd;
  bool directly = true;       // true if neither a symbolic link nor another mount is on its path
  uint32_t mode_mask = 0777;  // see Walked::mode_mask
  struct stat status = {};

  [[nodiscard]] int get() const { return fd.get(); }
};

/// Opens files and folders of a local store. Thread-safe.
class LocalFiles {
 public:
  using OpenFiles = LruCache<uint64_t, OpenFile>;

  /// `path`: the path at which the root is looked up again; if empty, the root never changes. For
  /// `on_out_of_reach` see LocalStoreOptions.
  LocalFiles(Descriptor root, std::string path, WalkRules rules, size_t max_open_files,
             std::function<void()> on_out_of_reach)
      : path_(std::move(path)),
        on_out_of_reach_(std::move(on_out_of_reach)),
        rules_(std::move(rules)),
        root_(std::make_shared<const Descriptor>(std::move(root))),
        open_files_(max_open_files, max_open_files >= 1024 ? 4 : 1) {}

  /// The current root. It changes if another directory takes its place at `path`.
  [[nodiscard]] std::shared_ptr<const Descriptor> root();
  [[nodiscard]] const std::string& path() const { return path_; }

  /// The watch on the store; null before StartWatching().
  [[nodiscard]] FolderWatch* watch() const { return watch_.load(std::memory_order_acquire); }
  void set_watch(FolderWatch* watch) { watch_.store(watch, std::memory_order_release); }

  [[nodiscard]] MountedDevices& devices() { return devices_; }
  [[nodiscard]] OpenFiles& open_files() { return open_files_; }
  [[nodiscard]] uint64_t NextSerial() { return next_serial_.fetch_add(1); }

  // The functions below resolve `key`. They follow only symbolic links that the rules allow, do not
  // enter zarrfs mounts, and return the errors of WalkPath(). They open only regular files and
  // folders: merely opening another file could unblock the writer of a FIFO or trigger a device.

  /// Opens a regular file or folder with O_PATH. kUnsupported for any other type of file.
  [[nodiscard]] Result<Opened> Find(std::string_view key) { return Open(key, Purpose::kLook); }
  /// Opens a regular file. kNotFound for a folder, kUnsupported for any other type of file.
  [[nodiscard]] Result<Opened> OpenToRead(std::string_view key) {
    return Open(key, Purpose::kRead);
  }
  /// Opens a folder; does not set `status`. kNotFound for a file, kUnsupported for any other type
  /// of file.
  [[nodiscard]] Result<Opened> OpenToList(std::string_view key) {
    return Open(key, Purpose::kList);
  }

 private:
  enum class Purpose { kLook, kRead, kList };

  Result<Opened> Open(std::string_view key, Purpose purpose);
  Result<Opened> OpenOnce(std::string_view key, Purpose purpose);
  // Opens a file with one openat2(2) call. nullopt if a symbolic link or another mount is on the
  // path.
  static std::optional<Result<Opened>> OpenDirectly(std::string_view key, const char* path,
                                                    int root, Purpose purpose);
  Result<Opened> OpenByWalking(std::string_view key, std::shared_ptr<const Descriptor> root,
                               Purpose purpose);

  const std::string path_;
  const std::function<void()> on_out_of_reach_;
  const WalkRules rules_;
  MountedDevices devices_;
  PathModes modes_;
  Mutex root_mutex_;  // also guards root_, unless path_ is empty
  std::shared_ptr<const Descriptor> root_;
  // The change_count() of the watch when the root was last looked up.
  uint64_t root_count_ GUARDED_BY(root_mutex_) = 0;
  std::chrono::steady_clock::time_point root_checked_
      GUARDED_BY(root_mutex_);  // when the root was last looked up; used if no watch exists
  std::atomic<FolderWatch*> watch_ = nullptr;
  OpenFiles open_files_;
  std::atomic<uint64_t> next_serial_{1};
};

}  // namespace zarrfs
