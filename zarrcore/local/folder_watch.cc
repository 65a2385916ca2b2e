#include "zarrcore/local/folder_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>
#include <system_error>

#include "zarrcore/local/open_at.h"
#include "zarrcore/local/pending_path.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kFolderEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY |
                                   IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF |
                                   IN_ONLYDIR | IN_EXCL_UNLINK;
constexpr uint32_t kPathEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
// Limits of one report of changes. After kMaxNamedChanges objects, only the folders of further
// changed objects are listed. After kMaxNamedFolders folders, everything is reported as changed.
constexpr size_t kMaxNamedChanges = 4096;
constexpr size_t kMaxNamedFolders = 4096;
constexpr std::chrono::seconds kTryAgainAfter{10};
// Approximate memory of a watch: 1 KiB in the kernel and two table entries in this process.
constexpr uint64_t kMemoryOfWatch = 1400;
// If the path of the directory cannot be watched, this is the interval, in milliseconds, at which
// the directory's device and inode are checked.
constexpr int kLookForPathMs = 1000;

// True if an object of this name can be part of a Zarr hierarchy. False for temporary files and
// lock files of writers.
bool IsZarrName(std::string_view name) {
  return name == "zarr.json" || name == ".zarray" || name == ".zgroup" || name == ".zattrs" ||
         name == ".zmetadata" || name.find_first_not_of("c0123456789.") == std::string_view::npos;
}

// True if a folder with this key may hold chunks, like "a/c/0/12" or "a/3".
bool MayHoldChunks(std::string_view folder) {
  const std::string_view name = NameOf(folder);
  return !name.empty() && (name == "c" || name.find_first_not_of("0123456789") == name.npos);
}

// Calls inotify_add_watch(2) for an open folder.
int AddWatch(int inotify, int folder, uint32_t events) {
  const std::string name = fmt::format("/proc/self/fd/{}", folder);
  return inotify_add_watch(inotify, name.c_str(), events);
}

template <typename Visit>  // called as visit(const inotify_event&, std::string_view name)
// Excluded from Clang's thread safety analysis, which cannot see that `visit` may need a mutex.
void VisitEvents(int inotify, Visit visit) NO_THREAD_SAFETY_ANALYSIS {
  alignas(inotify_event) std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t length = read(inotify, buffer.data(), buffer.size());
    if (length <= 0) return;
    for (ssize_t at = 0; at < length;) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      visit(event, std::string_view(name, event.len == 0 ? 0 : strnlen(name, event.len)));
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

Descriptor NewInotify() { return Descriptor(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)); }

}  // namespace

WatchLimit WatchLimit::OfUser(bool is_alone) {
  WatchLimit limit;
  size_t of_kernel = 0;
  if (std::ifstream("/proc/sys/fs/inotify/max_user_watches") >> of_kernel) {
    limit.folders = is_alone ? of_kernel - of_kernel / 4 : of_kernel / 2;
  }
  return limit;
}

Result<std::unique_ptr<FolderWatch>> FolderWatch::Start(std::string path, OpenFolder open_folder,
                                                        ChangeListener listener, Report report,
                                                        WatchLimit limit, std::string more) {
  std::unique_ptr<FolderWatch> watch(new FolderWatch(std::move(path), std::move(open_folder),
                                                     std::move(listener), std::move(report), limit,
                                                     std::move(more)));
  watch->folders_fd_ = NewInotify();
  watch->path_fd_ = NewInotify();
  watch->wake_fd_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!watch->folders_fd_ || !watch->path_fd_ || !watch->wake_fd_) {
    return Fail(ErrorCode::kUnsupported, "inotify: {} (see fs.inotify.max_user_instances)",
                std::generic_category().message(errno));
  }
  watch->mounts_fd_.reset(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  watch->mounts_ = watch->MountsInside();
  watch->WatchPath();
  // Block all signals in the new thread, which inherits the signal mask. Other threads handle
  // signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watch->thread_ = std::thread([raw = watch.get()] { raw->Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return watch;
}

FolderWatch::FolderWatch(std::string path, OpenFolder open_folder, ChangeListener listener,
                         Report report, WatchLimit limit, std::string more)
    : path_(std::move(path)),
      open_folder_(std::move(open_folder)),
      listener_(std::move(listener)),
      report_(std::move(report)),
      most_(limit),
      more_(std::move(more)) {}

FolderWatch::~FolderWatch() {
  if (thread_.joinable()) {
    is_ending_ = true;
    Wake();
    thread_.join();
  }
}

void FolderWatch::Wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd_.get(), &one, sizeof one);
}

uint64_t FolderWatch::Watch(std::string_view folder) {
  MutexLock lock(mutex_);
  return Watch(lock, std::string(folder));
}

uint64_t FolderWatch::WatchAllNames(std::string_view folder) {
  MutexLock lock(mutex_);
  const std::string key(folder);
  const uint64_t count = Watch(lock, key);
  // A missing folder has no watch of its own. If it appears later, that is a change of its parent
  // folder.
  if (const auto found = by_folder_.find(key); found != by_folder_.end()) {
    found->second.all_names = true;
  }
  return count;
}

uint64_t FolderWatch::Watch(MutexLock& lock, const std::string& key) {
  if (by_folder_.contains(key)) return change_count();
  if (Clock::now() < try_again_ || !HasRoom(lock)) return 0;
  // Reads the change count before any watch is added, so any later change invalidates the answer.
  const uint64_t count = change_count();
  // Adds watches from the root down, so no change to a parent folder goes unnoticed.
  for (size_t end = 0;; ++end) {
    end = end == 0 ? 0 : std::min(key.find('/', end), key.size());
    const std::string part = key.substr(0, end);
    bool absent = false;
    const bool is_watched = by_folder_.contains(part) || AddLocked(part, absent);
    if (is_watched && end != key.size()) continue;
    memory_.ShrinkTo(by_folder_.size() * kMemoryOfWatch);
    return is_watched || absent ? count : 0;
  }
}

void FolderWatch::ReportLimitLocked(const char* reason) {
  limit_ = reason;
  if (!std::exchange(limit_reported_, true)) {
    report_(fmt::format("changes in some folders are noticed late: {}", LimitLocked()));
  }
}

std::string FolderWatch::LimitLocked() const {
  if (limit_ == nullptr) return {};
  return fmt::format("{} folders are watched, {}", by_folder_.size(), limit_);
}

// Excluded from Clang's thread safety analysis, which cannot see that `lock` holds mutex_.
bool FolderWatch::HasRoom(MutexLock& lock) NO_THREAD_SAFETY_ANALYSIS {
  if (by_folder_.size() < most_.folders) {
    // Reserving memory may evict values of other caches, so the lock must not be held.
    lock.unlock();
    auto more = ProcessMemory().Take(kMemoryOfWatch);
    lock.lock();
    if (more) {
      memory_.Add(std::move(*more));
      return true;
    }
    ReportLimitLocked("and the rest of `memory` is in use");
  } else {
    ReportLimitLocked("the limit of one store, a share of fs.inotify.max_user_watches");
  }
  const auto now = Clock::now();
  if (waiting_since_ == kNobody) waiting_since_ = now;
  if (now - waiting_since_ < most_.patience) return false;
  EvictLocked();
  waiting_since_ = kNobody;
  return by_folder_.size() < most_.folders;
}

// Adds a watch on a folder. False if that is impossible. Sets `absent` if the folder does not
// exist; the watch on its parent then reports its creation.
bool FolderWatch::AddLocked(const std::string& folder, bool& absent) {
  const Descriptor fd = open_folder_(folder);
  if (!fd) {
    absent = !folder.empty() && (errno == ENOENT || errno == ENOTDIR);
    return false;
  }
  const int watch = AddWatch(folders_fd_.get(), fd.get(), kFolderEvents);
  if (watch < 0) {
    if (errno == ENOSPC || errno == ENOMEM) {
      try_again_ = Clock::now() + kTryAgainAfter;
      ReportLimitLocked(errno == ENOSPC ? "and the kernel allows no more (see "
                                          "fs.inotify.max_user_watches)"
                                        : "and the kernel has no memory for more");
    }
    return false;
  }
  // A folder with two paths (a bind mount) gets the same watch twice. Only the first path is used.
  if (!by_watch_.try_emplace(watch, folder).second) return false;
  by_folder_.emplace(folder, Watched{watch, ++next_order_});
  return true;
}

void FolderWatch::EvictLocked() {
  // A watch relies on the watches of its parent folders, so the parents' watches are dropped last.
  std::vector<std::string> first;
  for (const auto& [folder, watched] : by_folder_) {
    for (std::string_view at = folder; !at.empty();) {
      at = FolderOf(at);
      const auto above = by_folder_.find(std::string(at));
      if (above == by_folder_.end()) break;
      above->second.order = std::max(above->second.order, watched.order);
    }
    if (MayHoldChunks(folder)) first.push_back(folder);
  }
  std::ranges::sort(first, {}, [&](const std::string& folder) REQUIRES(mutex_) {
    return std::pair(by_folder_.at(folder).order, -static_cast<ptrdiff_t>(folder.size()));
  });
  first.resize(std::min(first.size(), most_.folders / 8 + 1));
  // Increments the change count before dropping the watches, because no cached answer may outlive
  // its watches.
  count_.fetch_add(1, std::memory_order_acq_rel);
  for (std::string& folder : first) {
    const auto found = by_folder_.find(folder);
    inotify_rm_watch(folders_fd_.get(), found->second.watch);
    by_watch_.erase(found->second.watch);
    by_folder_.erase(found);
    evicted_.push_back(std::move(folder));
  }
  memory_.ShrinkTo(by_folder_.size() * kMemoryOfWatch);
  Wake();
}

void FolderWatch::StartOverLocked() {
  if (Descriptor fresh = NewInotify()) {
    folders_fd_ = std::move(fresh);
  } else {
    for (const auto& [watch, folder] : by_watch_) inotify_rm_watch(folders_fd_.get(), watch);
  }
  by_folder_.clear();
  by_watch_.clear();
  memory_.ShrinkTo(0);
  waiting_since_ = kNobody;
  limit_ = nullptr;
}

WatchState FolderWatch::state() const {
  const MutexLock lock(mutex_);
  return {by_folder_.size(), LimitLocked()};
}

bool FolderWatch::ConcernsLocked(const std::string& folder, const inotify_event& event,
                                 std::string_view name) const {
  if (IsZarrName(name) || name == more_ || by_folder_.at(folder).all_names) return true;
  // The event does not distinguish a file from a symbolic link, and a link may lead to a node.
  if ((event.mask & (IN_CREATE | IN_MOVED_TO)) == 0 || MayHoldChunks(folder)) return false;
  const Descriptor fd = open_folder_(folder);
  struct stat status;
  const std::string of_link(name);
  return fd && fstatat(fd.get(), of_link.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode);
}

bool FolderWatch::ReadEvents(Changes& changes, bool& start_over) {
  bool changed = false;
  const auto add = [&](const std::string& folder, std::string_view name) {
    changed = true;
    std::string key = name.empty() ? folder : JoinKey(folder, name);
    if (changes.all || (!changes.keys.empty() && changes.keys.back() == key)) return;
    if (changes.keys.size() < kMaxNamedChanges) {
      changes.keys.push_back(std::move(key));
    } else if (changes.folders.empty() || changes.folders.back() != folder) {
      changes.folders.push_back(folder);
      changes.all = changes.folders.size() > kMaxNamedFolders;
    }
  };
  const MutexLock lock(mutex_);
  VisitEvents(folders_fd_.get(),
              [&](const inotify_event& event, std::string_view name) REQUIRES(mutex_) {
                if ((event.mask & (IN_Q_OVERFLOW | IN_UNMOUNT | IN_MOVE_SELF)) != 0) {
                  start_over = true;
                  return;
                }
                const auto found = by_watch_.find(event.wd);
                if (found == by_watch_.end()) return;
                const std::string folder = found->second;
                const bool is_folder = (event.mask & IN_ISDIR) != 0;
                // IN_IGNORED: the folder was deleted, so the kernel has removed its watch. Only
                // empty folders can be deleted, so the watches of the folders below were removed
                // earlier.
                if ((event.mask & IN_IGNORED) != 0) {
                  by_folder_.erase(folder);
                  by_watch_.erase(found);
                  add(folder, "");
                } else if (is_folder && (event.mask & IN_MOVED_FROM) != 0) {
                  start_over = true;  // the paths of the watches below the folder have changed
                  add(folder, name);
                } else if (is_folder || name.empty() || ConcernsLocked(folder, event, name)) {
                  add(folder, name);
                }
              });
  return changed;
}

// Reads the events of the watches on the directory's own path. True if the path may now lead to
// another directory.
bool FolderWatch::ReadPathEvents() {
  bool hit = false;
  VisitEvents(path_fd_.get(), [&](const inotify_event& event, std::string_view name) {
    if ((event.mask & (IN_Q_OVERFLOW | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
      hit = true;
    } else if (const auto names = path_names_.find(event.wd); names != path_names_.end()) {
      hit = hit || names->second.find(fmt::format("/{}/", name)) != std::string::npos;
    }
  });
  return hit;
}

std::vector<std::pair<uint64_t, std::string>> FolderWatch::MountsInside() const {
  std::vector<std::pair<uint64_t, std::string>> inside;
  const Descriptor root = open_folder_("");
  const auto path = ReadLinkAt(AT_FDCWD, fmt::format("/proc/self/fd/{}", root.get()).c_str());
  if (!root || !path) return inside;
  for (Mounted& mounted : MountTable()) {
    if (LiesIn(mounted.path, *path)) inside.emplace_back(mounted.id, std::move(mounted.path));
  }
  return inside;
}

std::pair<uint64_t, uint64_t> FolderWatch::IdentityOfPath() const {
  struct stat status;
  if (stat(path_.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

// Watches each folder in which a lookup of path_ looks up a name. If a component is a symbolic
// link, these include the folders on the path to the link's target.
void FolderWatch::WatchPath() {
  path_names_.clear();
  Descriptor fresh = NewInotify();
  path_is_watched_ = static_cast<bool>(fresh);
  if (fresh) path_fd_ = std::move(fresh);
  PendingPath pending;
  pending.Push(path_);
  std::string folder = "/";
  int links = 0;
  while (!pending.empty() && path_is_watched_) {
    const std::string name = pending.Pop();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      folder = folder.substr(0, std::max<size_t>(folder.rfind('/'), 1));
      if (folder.empty()) folder = "/";
      continue;
    }
    const int watch = inotify_add_watch(path_fd_.get(), folder.c_str(), kPathEvents);
    if (watch < 0) {
      path_is_watched_ = false;
      break;
    }
    std::string& names = path_names_[watch];
    names += names.empty() ? "/" + name + "/" : name + "/";
    const std::string next = (folder == "/" ? "" : folder) + "/" + name;
    const auto target = ReadLinkAt(AT_FDCWD, next.c_str());
    if (!target) {
      folder = next;
    } else if (++links > kMaxSymbolicLinks) {
      path_is_watched_ = false;
    } else {
      if (target->starts_with('/')) folder = "/";
      pending.Push(*target);
    }
  }
  identity_ = IdentityOfPath();
}

void FolderWatch::Run() {
  for (bool goes_on = true; goes_on;) {
    try {
      goes_on = Step();
    } catch (const std::bad_alloc&) {
      // Memory ran out and events were lost, so every object may have changed.
      {
        const MutexLock lock(mutex_);
        count_.fetch_add(1, std::memory_order_acq_rel);
        StartOverLocked();
      }
      Changes all;
      all.all = true;
      listener_(all);
    }
  }
}

bool FolderWatch::Step() {
  std::array<pollfd, 4> wait = {
      pollfd{folders_fd_.get(), POLLIN, 0}, pollfd{path_fd_.get(), POLLIN, 0},
      pollfd{wake_fd_.get(), POLLIN, 0}, pollfd{mounts_fd_.get(), POLLPRI, 0}};
  poll(wait.data(), wait.size(), path_is_watched_ ? -1 : kLookForPathMs);
  if (is_ending_) return false;

  Changes changes;
  bool start_over = false;
  bool changed = wait[0].revents != 0 && ReadEvents(changes, start_over);
  if (wait[2].revents != 0) {
    uint64_t wakes = 0;
    [[maybe_unused]] const ssize_t got = read(wake_fd_.get(), &wakes, sizeof wakes);
    const MutexLock lock(mutex_);
    changed = changed || !evicted_.empty();
    changes.unwatched = std::exchange(evicted_, {});
  }
  const bool mounts_changed = wait[3].revents != 0;
  if (mounts_changed) {
    auto mounts = MountsInside();
    start_over = start_over || mounts != mounts_;
    mounts_ = std::move(mounts);
  }
  // No event reports that a file system was mounted over the directory or over a folder on its
  // path, so the directory's device and inode are compared.
  const bool must_compare = !path_is_watched_ || (mounts_changed && !path_.empty());
  const bool path_changed =
      (wait[1].revents != 0 && ReadPathEvents()) || (must_compare && IdentityOfPath() != identity_);
  if (path_changed) WatchPath();
  if (start_over || path_changed) {
    const MutexLock lock(mutex_);
    // Increments the change count before dropping the watches, because no cached answer may outlive
    // its watches.
    count_.fetch_add(1, std::memory_order_acq_rel);
    StartOverLocked();
    changes.all = changed = true;
  } else if (changed) {
    count_.fetch_add(1, std::memory_order_acq_rel);
  }
  if (changed) listener_(changes);
  return true;
}

}  // namespace zarrfs
