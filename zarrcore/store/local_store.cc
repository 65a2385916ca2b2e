#include "zarrcore/store/local_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/store/folder_watch.h"

namespace zarrfs {
namespace {

constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;

// Without O_NONBLOCK the open of a FIFO would wait for a writer.
constexpr uint64_t kOpenToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// A store under constant rewriting is read again this often before the reader hears of it.
constexpr int kReadTries = 4;

// How often the root is looked for at its path while keys are asked for, where nothing is watched.
constexpr std::chrono::milliseconds kRootCheckedEvery{10};

// A descriptor that nobody reads through for so long is closed: the file may have been deleted, or
// its file system is to be unmounted.
constexpr int64_t kIdleSeconds = 60;

constexpr int64_t kLocalGranularityNs = 20'000'000;
constexpr int64_t kNetworkGranularityNs = 2'000'000'000;

constexpr std::string_view kMountType = "fuse.zarrfs";

int64_t SteadySeconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

// An owned file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// openat2(2), which glibc does not wrap; -1 and errno on failure.
int OpenAt2(int folder, const char* path, uint64_t flags, uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  // EAGAIN: something was renamed while ".." was resolved, and the kernel could not tell whether
  // the path stayed beneath the folder.
  for (int tries = 0;; ++tries) {
    const long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno != EINTR && (errno != EAGAIN || tries >= 32)) return -1;
  }
}

int64_t Nanoseconds(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

ObjectInfo InfoOf(const struct stat& status, bool found_directly = true) {
  ObjectInfo info;
  info.version.device = status.st_dev;
  info.version.inode = status.st_ino;
  info.version.size = static_cast<uint64_t>(status.st_size);
  info.version.mtime_ns = Nanoseconds(status.st_mtim);
  info.version.ctime_ns = Nanoseconds(status.st_ctim);
  info.is_folder = S_ISDIR(status.st_mode);
  info.mode = status.st_mode & 0777U;
  info.uid = status.st_uid;
  info.gid = status.st_gid;
  info.may_change_elsewhere = !found_directly || (!info.is_folder && status.st_nlink > 1);
  return info;
}

// Whether an open file still holds the bytes of `version`. Losing the last name (unlink, or rename
// of another file over it) touches ctime, and nothing else.
bool StillHolds(const struct stat& status, const Version& version) {
  return status.st_dev == version.device && status.st_ino == version.inode &&
         static_cast<uint64_t>(status.st_size) == version.size &&
         Nanoseconds(status.st_mtim) == version.mtime_ns &&
         (status.st_nlink == 0 || Nanoseconds(status.st_ctim) == version.ctime_ns);
}

std::string Describe(int error_number) { return std::generic_category().message(error_number); }

tl::unexpected<Error> FailWithErrno(std::string_view key, int error_number) {
  return Fail(FromErrno(error_number), "{}: {}", key, Describe(error_number));
}

tl::unexpected<Error> FailToOpen(std::string_view key, int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:       // an object below an object
    case ENAMETOOLONG:  // no such name can exist
    case EISDIR:
    case ENXIO:  // a socket, or a device without a driver
    case ENODEV:
      return Fail(ErrorCode::kNotFound, "{}: no such object", key);
    case EXDEV:
      return Fail(ErrorCode::kPermissionDenied, "{}: symbolic link leaves the store", key);
    case ELOOP:
      return Fail(ErrorCode::kPermissionDenied, "{}: symbolic links loop or leave the store", key);
    default:
      return FailWithErrno(key, error_number);
  }
}

// The devices of all zarrfs mounts that this process can see.
Result<std::vector<dev_t>> ZarrfsDevices() {
  std::ifstream mounts("/proc/self/mountinfo");
  if (!mounts) return Fail(ErrorCode::kIo, "/proc/self/mountinfo cannot be read");
  std::vector<dev_t> devices;
  // "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"
  for (std::string line; std::getline(mounts, line);) {
    const size_t end_of_options = line.find(" - ");
    if (end_of_options == std::string::npos ||
        std::string_view(line).substr(end_of_options + 3, kMountType.size()) != kMountType) {
      continue;
    }
    std::istringstream fields(line);
    unsigned mount_id = 0, parent_id = 0, major_number = 0, minor_number = 0;
    char colon = 0;
    if (fields >> mount_id >> parent_id >> major_number >> colon >> minor_number) {
      devices.push_back(makedev(major_number, minor_number));
    }
  }
  return devices;
}

// The device of a file or folder, without sending its file system a request; nullopt on failure.
// That is what makes it safe to ask of a mount that only this process could answer for.
std::optional<dev_t> DeviceOf(int folder, const char* name) {
  struct statx status;
  const int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (statx(folder, name, flags, 0, &status) != 0) return std::nullopt;
  return makedev(status.stx_dev_major, status.stx_dev_minor);
}

bool IsSlow(int64_t file_system_type) {
  constexpr std::array<int64_t, 18> kSlow = {
      0x6969,      // NFS
      0x517B,      // SMB
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2
      0x65735546,  // FUSE, virtiofs
      0x01021997,  // 9p
      0x00C36400,  // Ceph
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS
      0x5346414F,  // AFS
      0x6B414653,  // AFS, the kernel's own
      0x73757245,  // Coda
      0x20030528,  // OrangeFS
      0x19830326,  // BeeGFS
      0xAAD7AAEA,  // PanFS
      0x7461636F,  // OCFS2
      0x01161970,  // GFS2
      0x786F4256,  // VirtualBox shared folders
  };
  // f_type is a signed word: 32-bit systems and some drivers extend the sign of the CIFS numbers.
  return std::find(kSlow.begin(), kSlow.end(), file_system_type & 0xFFFFFFFF) != kSlow.end();
}

struct OpenFile {
  explicit OpenFile(Descriptor descriptor) : fd(std::move(descriptor)) {}

  const Descriptor fd;
  mutable std::atomic<int64_t> read_at = SteadySeconds();
};

// An open file or folder of the store.
struct Opened {
  Descriptor fd;
  bool directly;  // no symbolic link was followed, and no other mount entered

  [[nodiscard]] int get() const { return fd.get(); }
};

// What a store and its objects share: the root, and the descriptors that are kept open. Objects
// outlive the store they came from.
class LocalFiles {
 public:
  using OpenFiles = LruCache<uint64_t, OpenFile>;

  // `path` is where the root was found, and is looked for again; empty if it is not to be.
  LocalFiles(Descriptor root, std::string path, size_t max_open_files)
      : path_(std::move(path)),
        root_(std::make_shared<const Descriptor>(std::move(root))),
        open_files_(max_open_files, max_open_files >= 1024 ? 4 : 1) {}

  // The root as it is now: another directory may have been put in its place.
  [[nodiscard]] std::shared_ptr<const Descriptor> root() {
    if (path_.empty()) return root_;
    const std::lock_guard lock(root_mutex_);
    const FolderWatch* const watch = this->watch();
    const uint64_t count = watch != nullptr ? watch->change_count() : 0;
    const auto now = std::chrono::steady_clock::now();
    const bool is_current =
        watch != nullptr ? root_count_ == count : now - root_checked_ < kRootCheckedEvery;
    if (is_current) return root_;
    root_count_ = count;
    root_checked_ = now;
    Descriptor found(open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat old_status, status;
    if (found.get() < 0 || fstat(found.get(), &status) != 0 ||
        fstat(root_->get(), &old_status) != 0 ||
        (status.st_dev == old_status.st_dev && status.st_ino == old_status.st_ino)) {
      return root_;
    }
    const auto forbidden = ZarrfsDevices();
    if (!forbidden || std::ranges::find(*forbidden, status.st_dev) != forbidden->end())
      return root_;
    root_ = std::make_shared<const Descriptor>(std::move(found));
    return root_;
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Null before StartWatching().
  [[nodiscard]] FolderWatch* watch() const { return watch_.load(std::memory_order_acquire); }
  void set_watch(FolderWatch* watch) { watch_.store(watch, std::memory_order_release); }

  [[nodiscard]] OpenFiles& open_files() { return open_files_; }
  [[nodiscard]] uint64_t NextSerial() { return next_serial_.fetch_add(1); }

  // Opens what `key` names, symbolic links followed, beneath the root and outside zarrfs mounts.
  Result<Opened> Open(std::string_view key, uint64_t flags) {
    if (!IsValidKey(key)) return Fail(ErrorCode::kInvalidArgument, "\"{}\": not a key", key);
    std::array<char, PATH_MAX> path;
    if (key.size() >= path.size()) return FailToOpen(key, ENAMETOOLONG);
    std::memcpy(path.data(), key.data(), key.size());
    path[key.size()] = '\0';
    const char* name = key.empty() ? "." : path.data();

    const std::shared_ptr<const Descriptor> root = this->root();
    bool directly = true;
    uint64_t resolve = kBeneath | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
    int fd = OpenAt2(root->get(), name, flags, resolve);
    if (fd < 0 && errno == ELOOP) {
      directly = false;
      resolve &= ~uint64_t{RESOLVE_NO_SYMLINKS};
      fd = OpenAt2(root->get(), name, flags, resolve);
    }
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
      // Descriptors that are only kept for later make room for one that is needed now.
      open_files_.Clear();
      fd = OpenAt2(root->get(), name, flags, resolve);
    }
    if (fd >= 0) return Opened{Descriptor(fd), directly};
    if (errno == EXDEV) {
      Result<Descriptor> found = OpenAcrossMounts(root->get(), key, flags);
      if (!found) return Fail(found);
      return Opened{*std::move(found), false};
    }
    const int error_number = errno;
    // Below a folder that was deleted nothing is found, but that says nothing about the data.
    if (struct stat status;
        error_number == ENOENT && fstat(root->get(), &status) == 0 && status.st_nlink == 0) {
      return Fail(ErrorCode::kIo, "{}: the store's folder was deleted", key);
    }
    return FailToOpen(key, error_number);
  }

  // Opens a regular file and says what it is.
  Result<std::pair<Opened, struct stat>> OpenFileToRead(std::string_view key) {
    Result<Opened> fd = Open(key, kOpenToRead);
    if (!fd) return Fail(fd);
    struct stat status;
    if (fstat(fd->get(), &status) != 0) return FailWithErrno(key, errno);
    if (!S_ISREG(status.st_mode)) {
      return Fail(ErrorCode::kNotFound, "{}: not a regular file", key);
    }
    return std::pair(*std::move(fd), status);
  }

 private:
  // Open() for a path that meets a mount, or a symbolic link that leaves the store. The kernel
  // cannot be told which mounts to enter, so this resolves as it would, one component at a time,
  // and looks at each folder before anything is asked of it.
  Result<Descriptor> OpenAcrossMounts(int root, std::string_view key, uint64_t flags) {
    struct Step {
      Descriptor fd;
      dev_t device;
      std::string name;  // in the folder of the step before
    };
    std::vector<Step> steps;  // the path resolved so far, below the root
    std::vector<std::string> pending;
    const auto add_pending = [&pending](std::string_view path) {  // the next component comes last
      while (!path.empty()) {
        const size_t slash = path.rfind('/');
        const size_t start = slash == std::string_view::npos ? 0 : slash + 1;
        pending.emplace_back(path.substr(start));
        path = path.substr(0, start == 0 ? 0 : slash);
      }
    };

    const std::optional<dev_t> root_device = DeviceOf(root, "");
    if (!root_device) return FailWithErrno(key, errno);
    std::optional<std::vector<dev_t>> forbidden;  // read when a mount is met
    add_pending(key);
    int links = 0;
    while (!pending.empty()) {
      const std::string name = std::move(pending.back());
      pending.pop_back();
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        if (steps.empty()) return FailToOpen(key, EXDEV);
        steps.pop_back();
        continue;
      }
      const int parent = steps.empty() ? root : steps.back().fd.get();
      const dev_t parent_device = steps.empty() ? *root_device : steps.back().device;
      Descriptor fd(OpenAt2(parent, name.c_str(), O_PATH | O_NOFOLLOW, kBeneath));
      if (fd.get() < 0) return FailToOpen(key, errno);
      const std::optional<dev_t> device = DeviceOf(fd.get(), "");
      if (!device) return FailWithErrno(key, errno);
      if (*device != parent_device) {
        if (!forbidden) {
          Result<std::vector<dev_t>> devices = ZarrfsDevices();
          if (!devices) return Fail(devices);
          forbidden = *std::move(devices);
        }
        if (std::find(forbidden->begin(), forbidden->end(), *device) != forbidden->end()) {
          return Fail(ErrorCode::kNotFound, "{}: lies in a zarrfs mount", key);
        }
      }
      struct stat status;
      if (fstat(fd.get(), &status) != 0) return FailWithErrno(key, errno);
      if (!S_ISLNK(status.st_mode)) {
        steps.push_back({std::move(fd), *device, name});
        continue;
      }
      if (++links > kMaxSymbolicLinks) return FailToOpen(key, ELOOP);
      std::array<char, PATH_MAX> target;
      const ssize_t length = readlinkat(fd.get(), "", target.data(), target.size());
      if (length < 0) return FailToOpen(key, errno);
      const std::string_view path(target.data(), static_cast<size_t>(length));
      if (path.starts_with('/')) return FailToOpen(key, EXDEV);
      add_pending(path);
    }

    if (steps.empty()) {
      Descriptor fd(OpenAt2(root, ".", flags, kBeneath));
      if (fd.get() < 0) return FailToOpen(key, errno);
      return fd;
    }
    if ((flags & O_PATH) != 0) return std::move(steps.back().fd);
    const int parent = steps.size() == 1 ? root : steps[steps.size() - 2].fd.get();
    Descriptor fd(OpenAt2(parent, steps.back().name.c_str(), flags | O_NOFOLLOW, kBeneath));
    if (fd.get() < 0) return FailToOpen(key, errno);
    return fd;
  }

  const std::string path_;
  std::mutex root_mutex_;  // guards the next three, if there is a path
  std::shared_ptr<const Descriptor> root_;
  uint64_t root_count_ = 0;                             // change_count() when it was looked for
  std::chrono::steady_clock::time_point root_checked_;  // where nothing is watched
  std::atomic<FolderWatch*> watch_ = nullptr;
  OpenFiles open_files_;
  std::atomic<uint64_t> next_serial_{1};
};

// pread(2) until `out` is full or the file ends; the bytes read, or -1 and errno.
ssize_t ReadFully(int fd, uint64_t offset, std::span<std::byte> out) {
  size_t have = 0;
  while (have < out.size()) {
    const ssize_t got =
        pread(fd, out.data() + have, out.size() - have, static_cast<off_t>(offset + have));
    if (got == 0) break;
    if (got > 0) {
      have += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return static_cast<ssize_t>(have);
}

class LocalObject final : public Object {
 public:
  LocalObject(std::shared_ptr<LocalFiles> files, std::string key, ObjectInfo info, Descriptor fd)
      : files_(std::move(files)),
        serial_(files_->NextSerial()),
        key_(std::move(key)),
        info_(std::move(info)) {
    files_->open_files().Put(serial_, std::make_shared<OpenFile>(std::move(fd)), 1);
  }
  ~LocalObject() override { files_->open_files().Erase(serial_); }

  LocalObject(const LocalObject&) = delete;
  LocalObject& operator=(const LocalObject&) = delete;

  [[nodiscard]] const ObjectInfo& info() const override { return info_; }

  [[nodiscard]] Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    // Holding `file` keeps the descriptor open even if the cache gives it up meanwhile.
    LocalFiles::OpenFiles::ValuePtr file = files_->open_files().Get(serial_);
    if (file == nullptr) {
      Result<LocalFiles::OpenFiles::ValuePtr> reopened = Reopen();
      if (!reopened) return Fail(reopened);
      file = *std::move(reopened);
    }
    const int fd = file->fd.get();
    file->read_at.store(SteadySeconds(), std::memory_order_relaxed);
    const uint64_t size = info_.size();
    const bool inside = offset <= size && out.size() <= size - offset;
    ssize_t have = 0;
    if (inside) {
      have = ReadFully(fd, offset, out);
      if (have < 0) return FailWithErrno(key_, errno);
    }
    // Only after the read: a change before or during it shows now.
    struct stat status;
    if (fstat(fd, &status) != 0) return FailWithErrno(key_, errno);
    if (!StillHolds(status, info_.version)) {
      return Fail(ErrorCode::kStale, "{}: changed since it was opened", key_);
    }
    if (!inside || static_cast<size_t>(have) != out.size()) {
      return Fail(ErrorCode::kDamaged, "{}: ends early: expected {} bytes at {}, found {} in all",
                  key_, out.size(), offset, size);
    }
    return {};
  }

 private:
  Result<LocalFiles::OpenFiles::ValuePtr> Reopen() const {
    return files_->open_files().GetOrLoad(
        serial_, [this]() -> Result<LocalFiles::OpenFiles::Loaded> {
          auto opened = files_->OpenFileToRead(key_);
          if (!opened && opened.error().code == ErrorCode::kNotFound) {
            return Fail(ErrorCode::kStale, "{}: removed since it was opened", key_);
          }
          if (!opened) return Fail(opened);
          auto& [fd, status] = *opened;
          if (InfoOf(status).version != info_.version) {
            return Fail(ErrorCode::kStale, "{}: replaced since it was opened", key_);
          }
          return LocalFiles::OpenFiles::Loaded{std::make_shared<OpenFile>(std::move(fd.fd)), 1};
        });
  }

  const std::shared_ptr<LocalFiles> files_;
  const uint64_t serial_;  // of its descriptor in the cache
  const std::string key_;
  const ObjectInfo info_;
};

class LocalStore final : public Store {
 public:
  LocalStore(std::string path, std::shared_ptr<LocalFiles> files, bool answers_fast)
      : path_(std::move(path)), files_(std::move(files)), answers_fast_(answers_fast) {}
  ~LocalStore() override { files_->set_watch(nullptr); }

  [[nodiscard]] Result<ObjectInfo> Stat(std::string_view key) const override {
    const Result<Opened> fd = files_->Open(key, O_PATH);
    if (!fd) return Fail(fd);
    struct stat status;
    if (fstat(fd->get(), &status) != 0) return FailWithErrno(key, errno);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
      return Fail(ErrorCode::kNotFound, "{}: neither a regular file nor a folder", key);
    }
    return InfoOf(status, fd->directly);
  }

  [[nodiscard]] Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                                        std::span<std::byte> out) const override {
    for (int tries = 0; tries < kReadTries; ++tries) {
      auto opened = files_->OpenFileToRead(key);
      if (!opened) return Fail(opened);
      auto& [fd, before] = *opened;
      ObjectInfo info = InfoOf(before, fd.directly);
      const uint64_t size = info.size();
      const uint64_t offset =
          range.from_end ? size - std::min(size, range.length) : std::min(size, range.offset);
      const uint64_t length = std::min({range.length, size - offset, uint64_t{out.size()}});
      const ssize_t have = ReadFully(fd.get(), offset, out.first(static_cast<size_t>(length)));
      if (have < 0) return FailWithErrno(key, errno);
      struct stat after;
      if (fstat(fd.get(), &after) != 0) return FailWithErrno(key, errno);
      if (!StillHolds(after, info.version)) continue;
      if (static_cast<uint64_t>(have) != length) {
        return Fail(ErrorCode::kDamaged, "{}: ends early: expected {} bytes at {}, found {}", key,
                    length, offset, have);
      }
      return ReadAnswer{std::make_shared<LocalObject>(files_, std::string(key), std::move(info),
                                                      std::move(fd.fd)),
                        offset, static_cast<size_t>(length)};
    }
    return Fail(ErrorCode::kStale, "{}: changed during each of {} reads", key, kReadTries);
  }

  [[nodiscard]] Result<std::vector<ListEntry>> List(std::string_view folder) const override {
    Result<Opened> fd = files_->Open(folder, kOpenToRead | O_DIRECTORY);
    if (!fd) return Fail(fd);
    // One look at the mounts for the folder, not one for each of its entries. Where they cannot be
    // read, entering the folder is refused in Open().
    std::vector<dev_t> forbidden = ZarrfsDevices().value_or(std::vector<dev_t>{});
    // (A view of a mount may be a store itself.)
    if (const auto own = DeviceOf(files_->root()->get(), "")) std::erase(forbidden, *own);

    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fd->get()), &closedir);
    if (stream == nullptr) return FailWithErrno(folder, errno);
    const int folder_fd = fd->fd.release();  // the stream's from here on
    std::vector<ListEntry> entries;
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(stream.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (entry->d_type == DT_REG) {
        entries.push_back({std::string(name), false, false});
      } else if (entry->d_type == DT_DIR) {
        if (!forbidden.empty()) {
          const std::optional<dev_t> device = DeviceOf(folder_fd, entry->d_name);
          if (device && std::find(forbidden.begin(), forbidden.end(), *device) != forbidden.end()) {
            continue;
          }
        }
        entries.push_back({std::string(name), true, false});
      } else if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
        const Result<ObjectInfo> info = Stat(JoinKey(folder, name));
        if (info) {
          entries.push_back({std::string(name), info->is_folder, false});
        } else if (info.error().code != ErrorCode::kNotFound &&
                   info.error().code != ErrorCode::kPermissionDenied) {
          return Fail(info);
        }
      }
    }
    if (errno != 0) return FailWithErrno(folder, errno);
    return entries;
  }

  void LetGoOfIdle() const override {
    const int64_t now = SteadySeconds();
    files_->open_files().EraseIf([now](uint64_t, const OpenFile& file) {
      return now - file.read_at.load(std::memory_order_relaxed) >= kIdleSeconds;
    });
  }

  [[nodiscard]] bool AnswersFast() const override { return answers_fast_; }

  [[nodiscard]] int64_t TimestampGranularityNs() const override {
    return answers_fast_ ? kLocalGranularityNs : kNetworkGranularityNs;
  }

  [[nodiscard]] Result<StoreCapacity> Capacity() const override {
    struct statvfs space;
    if (fstatvfs(files_->root()->get(), &space) != 0) return FailWithErrno(path_, errno);
    StoreCapacity capacity;
    capacity.block_size = space.f_frsize;
    capacity.blocks = space.f_blocks;
    capacity.blocks_free = space.f_bfree;
    capacity.blocks_available = space.f_bavail;
    capacity.files = space.f_files;
    capacity.files_free = space.f_ffree;
    return capacity;
  }

  [[nodiscard]] Result<void> StartWatching(
      ChangeListener listener, std::function<void(std::string_view)> report) const override {
    if (!answers_fast_) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: other machines may change it, which the kernel does not tell", path_);
    }
    const auto open_folder = [files = files_.get()](const std::string& key) {
      return OpenAt2(files->root()->get(), key.empty() ? "." : key.c_str(), O_PATH | O_DIRECTORY,
                     kBeneath | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
    };
    auto watch =
        FolderWatch::Start(files_->path(), open_folder, std::move(listener), std::move(report));
    if (!watch) return Fail(watch);
    watch_ = std::move(*watch);
    files_->set_watch(watch_.get());
    return {};
  }
  [[nodiscard]] WatchState watch_state() const override {
    const FolderWatch* const watch = files_->watch();
    return watch == nullptr ? WatchState{} : watch->state();
  }

  [[nodiscard]] uint64_t Watch(std::string_view folder) const override {
    FolderWatch* const watch = files_->watch();
    return watch == nullptr ? 0 : watch->Watch(folder);
  }
  [[nodiscard]] uint64_t change_count() const override {
    const FolderWatch* const watch = files_->watch();
    return watch == nullptr ? 0 : watch->change_count();
  }

  [[nodiscard]] std::string name() const override { return path_; }

 private:
  const std::string path_;
  const std::shared_ptr<LocalFiles> files_;
  const bool answers_fast_;
  mutable std::unique_ptr<FolderWatch> watch_;  // owned here; for use see files_->watch()
};

size_t DefaultMaxOpenFiles() {
  constexpr size_t kLeast = 16, kMost = 1U << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeast;
  const size_t soft = std::min<size_t>(limit.rlim_cur, 2 * kMost);
  const size_t share = soft / 4 * 3;
  return std::clamp(share > 64 ? share - 64 : 0, kLeast, kMost);
}

}  // namespace

Result<std::shared_ptr<Store>> OpenLocalStore(const std::string& path, LocalStoreOptions options) {
  Descriptor root(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) return FailWithErrno(path, errno);
  const Descriptor probe(OpenAt2(root.get(), ".", O_PATH, kBeneath | RESOLVE_NO_XDEV));
  if (probe.get() < 0 && errno == ENOSYS) {
    return Fail(ErrorCode::kUnsupported, "{}: openat2 is missing: needs Linux 5.6 or newer", path);
  }
  if (probe.get() < 0) return FailWithErrno(path, errno);
  struct statfs file_system;
  if (fstatfs(root.get(), &file_system) != 0) return FailWithErrno(path, errno);
  const size_t max_open_files =
      options.max_open_files != 0 ? options.max_open_files : DefaultMaxOpenFiles();
  auto files = std::make_shared<LocalFiles>(std::move(root), options.follow_path ? path : "",
                                            max_open_files);
  return std::make_shared<LocalStore>(path, std::move(files), !IsSlow(file_system.f_type));
}

size_t RaiseOpenFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<size_t>(limit.rlim_cur);
}

}  // namespace zarrfs
