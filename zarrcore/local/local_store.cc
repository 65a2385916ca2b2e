#include "zarrcore/local/local_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "zarrcore/base/clocks.h"
#include "zarrcore/local/folder_watch.h"
#include "zarrcore/local/local_files.h"
#include "zarrcore/os/folder_names.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {
namespace {

// Maximum attempts to read an object that is being rewritten.
constexpr int kMaxReads = 4;

// Descriptors that were idle for this many nanoseconds are closed, because the file may have been
// deleted, or a user may want to unmount its file system.
constexpr int64_t kMaxIdleNs = 60'000'000'000;

constexpr int64_t kLocalGranularityNs = 20'000'000;
constexpr int64_t kNetworkGranularityNs = 2'000'000'000;

// Nanoseconds since 1970, clamped to the range of 64 bits, which is the years 1677 to 2262.
int64_t TimeNs(const timespec& time) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min() / kNsPerSecond * kNsPerSecond;
  if (time.tv_sec >= kLast / kNsPerSecond) return kLast;
  if (time.tv_sec <= kFirst / kNsPerSecond) return kFirst;
  return Nanoseconds(time);
}

ObjectInfo InfoOf(const Opened& opened) {
  const struct stat& status = opened.status;
  ObjectInfo info;
  info.version.device = status.st_dev;
  info.version.inode = status.st_ino;
  info.version.size = static_cast<uint64_t>(status.st_size);
  info.version.mtime_ns = TimeNs(status.st_mtim);
  info.version.ctime_ns = TimeNs(status.st_ctim);
  info.version.mode_mask = opened.mode_mask;
  info.is_folder = S_ISDIR(status.st_mode);
  info.mode = status.st_mode & 0777U & opened.mode_mask;
  info.uid = status.st_uid;
  info.gid = status.st_gid;
  info.may_change_elsewhere = !opened.directly || (!info.is_folder && status.st_nlink > 1);
  return info;
}

// True if an open file still has the bytes of `version`. If its last name is removed, by unlink()
// or by a rename over it, only its ctime changes.
bool StillHolds(const struct stat& status, const Version& version) {
  return status.st_dev == version.device && status.st_ino == version.inode &&
         static_cast<uint64_t>(status.st_size) == version.size &&
         TimeNs(status.st_mtim) == version.mtime_ns &&
         (status.st_nlink == 0 || TimeNs(status.st_ctim) == version.ctime_ns);
}

// True if the file system of `fd` is local: only this machine can change the files, and no other
// machine is involved in reading them.
bool IsLocal(int fd) {
  constexpr std::array<int64_t, 14> kLocal = {
      0xEF53,      // ext2 to ext4
      0x58465342,  // XFS
      0x9123683E,  // Btrfs
      0x2FC12FC1,  // ZFS
      0xF2F52010,  // F2FS
      0xCA451A4E,  // bcachefs
      0x01021994,  // tmpfs
      0x858458F6,  // ramfs
      0x2011BAB0,  // exFAT
      0x7366746E,  // ntfs3
      0x4D44,      // FAT
      0x9660,      // ISO 9660
      0x73717368,  // SquashFS
      0xE0F5E1E2,  // EROFS
  };
  constexpr int64_t kOverlay = 0x794C7630;
  struct statfs file_system;
  struct stat status;
  if (fstatfs(fd, &file_system) != 0 || fstat(fd, &status) != 0) return false;
  // Some systems sign-extend f_type.
  const int64_t type = int64_t{file_system.f_type} & 0xFFFFFFFF;
  if (type != kOverlay) return std::ranges::find(kLocal, type) != kLocal.end();
  const std::vector<Mounted> table = MountTable();
  const auto mounted = std::ranges::find(table, status.st_dev, &Mounted::device);
  if (mounted == table.end()) return false;
  const auto layers = OverlayLayers(mounted->file_system_options);
  return !layers.empty() && std::ranges::all_of(layers, [](const std::string& layer) {
    const Descriptor folder(open(layer.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return folder && IsLocal(folder.get());
  });
}

// Calls pread(2) until `out` is full or the file ends. Returns the number of bytes read, or -1 with
// errno set.
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
    // Keeps the descriptor open even if the cache evicts it during the read.
    LocalFiles::OpenFiles::ValuePtr file = files_->open_files().Get(serial_);
    if (file == nullptr) {
      Result<LocalFiles::OpenFiles::ValuePtr> reopened = Reopen();
      if (!reopened) return Fail(reopened);
      file = *std::move(reopened);
    }
    const int fd = file->fd.get();
    file->read_ns.store(CoarseNowNs(), std::memory_order_relaxed);
    const uint64_t size = info_.size();
    const bool inside = offset <= size && out.size() <= size - offset;
    ssize_t have = 0;
    if (inside) {
      have = ReadFully(fd, offset, out);
      if (have < 0) return FailWithErrno(key_, errno);
    }
    // Call fstat() after reading the bytes, so a change before or during the read is noticed.
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
          auto opened = files_->OpenToRead(key_);
          if (!opened && opened.error().code == ErrorCode::kNotFound) {
            return Fail(ErrorCode::kStale, "{}: removed since it was opened", key_);
          }
          if (!opened) return Fail(opened);
          if (InfoOf(*opened).version != info_.version) {
            return Fail(ErrorCode::kStale, "{}: replaced since it was opened", key_);
          }
          return LocalFiles::OpenFiles::Loaded{std::make_shared<OpenFile>(std::move(opened->fd)),
                                               1};
        });
  }

  const std::shared_ptr<LocalFiles> files_;
  const uint64_t serial_;  // the key of this object's descriptor in the cache
  const std::string key_;
  const ObjectInfo info_;
};

class LocalFolderStream final : public FolderStream {
 public:
  static Result<std::unique_ptr<FolderStream>> Open(const std::shared_ptr<LocalFiles>& files,
                                                    std::string_view folder) {
    Result<Opened> opened = files->OpenToList(folder);
    if (!opened) return Fail(opened);
    std::unique_ptr<LocalFolderStream> stream(new LocalFolderStream(files, std::string(folder)));
    stream->directory_ = ReadNames(std::move(opened->fd));
    if (stream->directory_ == nullptr) return FailWithErrno(folder, errno);
    stream->FindMounts();
    return stream;
  }

  [[nodiscard]] Result<std::vector<ListEntry>> Next(size_t count) override {
    std::vector<ListEntry> entries;
    while (entries.size() < count) {
      errno = 0;
      const dirent* entry = readdir(directory_.get());
      if (entry == nullptr && errno != 0) return FailWithErrno(folder_, errno);
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (entry->d_type == DT_REG) {
        entries.push_back({std::string(name), false, false});
      } else if (entry->d_type == DT_DIR) {
        entries.push_back({std::string(name), true, IsZarrfs(entry->d_name)});
      } else if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
        auto found = EntryOf(name);
        if (!found) return Fail(found);
        if (*found) entries.push_back(**std::move(found));
      } else {  // the file is a socket, FIFO or device
        entries.push_back({std::string(name), false, true});
      }
    }
    return entries;
  }

 private:
  LocalFolderStream(std::shared_ptr<LocalFiles> files, std::string folder)
      : files_(std::move(files)), folder_(std::move(folder)) {}

  // Finds the zarrfs mounts in the folder before its entries are listed, not for each entry. If the
  // mount table cannot be read, zarrfs mounts are refused only when they are entered.
  void FindMounts() {
    zarrfs_ = files_->devices().ZarrfsIn(dirfd(directory_.get())).value_or(std::vector<dev_t>{});
    if (zarrfs_.empty()) return;
    // The root itself may be inside a zarrfs mount. Its folders may then be listed.
    if (const auto own = GlanceAt(files_->root()->get())) std::erase(zarrfs_, own->id.device);
  }

  [[nodiscard]] bool IsZarrfs(const char* name) const {
    if (zarrfs_.empty()) return false;
    const auto glance = GlanceAt(dirfd(directory_.get()), name);
    return glance && std::ranges::find(zarrfs_, glance->id.device) != zarrfs_.end();
  }

  // Looks up the entry for a symbolic link, or for a name whose type readdir(3) does not state.
  // nullopt if the name no longer exists.
  [[nodiscard]] Result<std::optional<ListEntry>> EntryOf(std::string_view name) const {
    const auto found = files_->Find(JoinKey(folder_, name));
    if (found) return ListEntry{std::string(name), InfoOf(*found).is_folder, false};
    switch (found.error().code) {
      case ErrorCode::kNotFound:
        return std::nullopt;
      case ErrorCode::kTooManyOpenFiles:  // report the error, because the next listing may succeed
      case ErrorCode::kInterrupted:
        return Fail(found);
      default:  // the name exists, despite the error
        return ListEntry{std::string(name), found.error().code == ErrorCode::kZarrfsMount, true};
    }
  }

  const std::shared_ptr<LocalFiles> files_;
  const std::string folder_;
  std::vector<dev_t> zarrfs_;  // the devices of the zarrfs mounts in the folder
  FolderNames directory_;
};

class LocalStore final : public Store {
 public:
  LocalStore(std::string path, std::shared_ptr<LocalFiles> files, bool answers_fast, bool is_alone,
             std::string watched_name)
      : path_(std::move(path)),
        files_(std::move(files)),
        answers_fast_(answers_fast),
        is_alone_(is_alone),
        watched_name_(std::move(watched_name)) {}
  ~LocalStore() override { files_->set_watch(nullptr); }

  [[nodiscard]] Result<ObjectInfo> Stat(std::string_view key) const override {
    return files_->Find(key).map(InfoOf);
  }

  [[nodiscard]] Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                                        std::span<std::byte> out) const override {
    for (int tries = 0; tries < kMaxReads; ++tries) {
      auto opened = files_->OpenToRead(key);
      if (!opened) return Fail(opened);
      const int fd = opened->get();
      ObjectInfo info = InfoOf(*opened);
      const uint64_t size = info.size();
      const uint64_t offset =
          range.from_end ? size - std::min(size, range.length) : std::min(size, range.offset);
      const uint64_t length = std::min({range.length, size - offset, uint64_t{out.size()}});
      const ssize_t have = ReadFully(fd, offset, out.first(static_cast<size_t>(length)));
      if (have < 0) return FailWithErrno(key, errno);
      struct stat after;
      if (fstat(fd, &after) != 0) return FailWithErrno(key, errno);
      if (!StillHolds(after, info.version)) continue;
      if (static_cast<uint64_t>(have) != length) {
        return Fail(ErrorCode::kDamaged, "{}: ends early: expected {} bytes at {}, found {}", key,
                    length, offset, have);
      }
      return ReadAnswer{std::make_shared<LocalObject>(files_, std::string(key), std::move(info),
                                                      std::move(opened->fd)),
                        offset, static_cast<size_t>(length)};
    }
    return Fail(ErrorCode::kStale, "{}: changed during each of {} reads", key, kMaxReads);
  }

  [[nodiscard]] Result<std::unique_ptr<FolderStream>> OpenFolder(
      std::string_view folder) const override {
    return LocalFolderStream::Open(files_, folder);
  }

  void CloseIdle() const override {
    const int64_t now = CoarseNowNs();
    files_->open_files().EraseIf([now](uint64_t, const OpenFile& file) {
      return now - file.read_ns.load(std::memory_order_relaxed) >= kMaxIdleNs;
    });
  }

  [[nodiscard]] bool AnswersFast() const override { return answers_fast_; }

  [[nodiscard]] int64_t TimestampGranularityNs() const override {
    return answers_fast_ ? kLocalGranularityNs : kNetworkGranularityNs;
  }

  [[nodiscard]] Result<StoreCapacity> Capacity() const override {
    struct statvfs space;
    if (fstatvfs(files_->root()->get(), &space) != 0) return FailWithErrno(path_, errno);
    return StoreCapacity{space.f_frsize, space.f_blocks, space.f_bfree,
                         space.f_bavail, space.f_files,  space.f_ffree};
  }

  [[nodiscard]] Result<void> StartWatching(
      ChangeListener listener, std::function<void(std::string_view)> report) const override {
    if (!answers_fast_) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: other machines may change it without an event from the kernel", path_);
    }
    const auto open_folder = [files = files_.get()](const std::string& key) {
      return OpenAt2(files->root()->get(), key.empty() ? "." : key.c_str(), O_PATH | O_DIRECTORY,
                     kDirectly);
    };
    auto watch =
        FolderWatch::Start(files_->path(), open_folder, std::move(listener), std::move(report),
                           WatchLimit::OfUser(is_alone_), watched_name_);
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
  [[nodiscard]] uint64_t WatchAllNames(std::string_view folder) const override {
    FolderWatch* const watch = files_->watch();
    return watch == nullptr ? 0 : watch->WatchAllNames(folder);
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
  const bool is_alone_;  // true if the user of this process has no other processes
  const std::string watched_name_;
  mutable std::unique_ptr<FolderWatch> watch_;  // owned here; used through files_->watch()
};

size_t DefaultMaxOpenFiles() {
  constexpr size_t kMin = 16, kMax = 1U << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMin;
  const size_t soft = std::min<size_t>(limit.rlim_cur, 2 * kMax);
  const size_t share = soft / 4 * 3;
  return std::clamp(share > 64 ? share - 64 : 0, kMin, kMax);
}

Result<WalkRules> RulesOf(const std::string& path, const Descriptor& root,
                          const LocalStoreOptions& options) {
  WalkRules rules;
  rules.policy = options.links;
  rules.restrict_modes = options.others_read;
  rules.reader = options.reader;
  if (options.others_read) {
    rules.access_lists = std::make_shared<AccessLists>(options.on_access_list);
  }
  rules.store_moves = options.follow_path;
  std::error_code error;
  // Gets the real path of the descriptor, because a mount may cover `path`.
  const auto real =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", root.get()), error);
  for (std::string store_path : {path, real.string()}) {
    while (store_path.ends_with('/')) store_path.pop_back();
    if (store_path.starts_with('/')) rules.store_paths.push_back(std::move(store_path));
  }
  for (const std::string& folder : options.links.folders) {
    Descriptor found(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto glance = found ? GlanceAt(found.get()) : std::nullopt;
    if (!glance) return Fail(FromErrno(errno), "links={}: {}", folder, ErrnoText(errno));
    rules.folders.push_back(glance->id);
    rules.held.push_back(std::make_shared<const Descriptor>(std::move(found)));
  }
  return rules;
}

}  // namespace

Result<std::shared_ptr<Store>> OpenLocalStore(const std::string& path, LocalStoreOptions options,
                                              Descriptor root) {
  if (!root) root.reset(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return FailWithErrno(path, errno);
  const Descriptor probe = OpenAt2(root.get(), ".", O_PATH, kBeneath | RESOLVE_NO_XDEV);
  if (!probe && errno == ENOSYS) {
    return Fail(ErrorCode::kUnsupported, "{}: openat2 is missing: needs Linux 5.6 or newer", path);
  }
  if (!probe) return FailWithErrno(path, errno);
  // Reopen() needs /proc to open files whose type has been checked.
  if (access("/proc/self/fd", F_OK) != 0) {
    return Fail(ErrorCode::kUnsupported,
                "{}: /proc is missing: mount it (mount -t proc proc /proc)", path);
  }
  auto rules = RulesOf(path, root, options);
  if (!rules) return Fail(rules);
  const size_t max_open_files =
      options.max_open_files != 0 ? options.max_open_files : DefaultMaxOpenFiles();
  const bool is_local = IsLocal(root.get());
  auto files = std::make_shared<LocalFiles>(std::move(root), options.follow_path ? path : "",
                                            *std::move(rules), max_open_files,
                                            std::move(options.on_out_of_reach));
  return std::make_shared<LocalStore>(path, std::move(files), is_local, options.reader != geteuid(),
                                      std::move(options.watched_name));
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
