#include "zarrcore/local/mounted_devices.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "zarrcore/local/open_at.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {
namespace {

constexpr std::array<std::string_view, 15> kKernelTypes = {
    "proc",    "sysfs",    "securityfs", "debugfs", "tracefs",     "cgroup", "cgroup2", "configfs",
    "fusectl", "efivarfs", "pstore",     "bpf",     "binfmt_misc", "devpts", "mqueue"};

MountKind KindOfType(std::string_view type) {
  if (type == kMountType) return MountKind::kZarrfs;
  if (type == "autofs") return MountKind::kAutomount;
  const bool is_kernel = std::ranges::find(kKernelTypes, type) != kKernelTypes.end();
  return is_kernel ? MountKind::kKernel : MountKind::kPlain;
}

// "/a" for "/a/b", "/" for "/a".
std::string_view FolderOfPath(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

}  // namespace

Result<void> MountedDevices::UpdateLocked() {
  if (!table_) {
    table_.reset(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    if (!table_) {
      return Fail(ErrorCode::kIo, "/proc/self/mountinfo cannot be opened: {}", ErrnoText(errno));
    }
    return ReadLocked();
  }
  pollfd changed = {table_.get(), POLLPRI, 0};
  if (poll(&changed, 1, 0) == 0) return {};
  return ReadLocked();
}

Result<void> MountedDevices::ReadLocked() {
  std::string text;
  std::array<char, 16384> piece;
  ssize_t length = lseek(table_.get(), 0, SEEK_SET) == 0 ? 1 : -1;
  while (length > 0) {
    length = read(table_.get(), piece.data(), piece.size());
    if (length > 0) text.append(piece.data(), static_cast<size_t>(length));
    if (length < 0 && errno == EINTR) length = 1;
  }
  const std::vector<Mounted> table = ParseMountTable(text);
  if (length < 0 || table.empty()) {
    table_.reset();
    return Fail(ErrorCode::kIo, "/proc/self/mountinfo cannot be read");
  }
  rows_.clear();
  for (const Mounted& mounted : table) {
    rows_.push_back({mounted.device, KindOfType(mounted.type), mounted.path});
  }
  return {};
}

Result<MountKind> MountedDevices::KindOf(int fd, dev_t device) {
  const auto find = [&]()
                        REQUIRES(mutex_) { return std::ranges::find(rows_, device, &Row::device); };
  {
    const MutexLock lock(mutex_);
    if (const auto updated = UpdateLocked(); !updated) return Fail(updated);
    auto found = find();
    if (found == rows_.end()) {  // the device may just have been mounted
      if (const auto updated = ReadLocked(); !updated) return Fail(updated);
      found = find();
    }
    if (found != rows_.end()) return found->kind;
  }
  // The device belongs to a Btrfs subvolume or to a mount in another namespace. Neither can be a
  // zarrfs mount that this process serves.
  struct statfs file_system;
  if (fstatfs(fd, &file_system) != 0) return MountKind::kPlain;
  const bool is_kernel =
      file_system.f_type == PROC_SUPER_MAGIC || file_system.f_type == SYSFS_MAGIC;
  return is_kernel ? MountKind::kKernel : MountKind::kPlain;
}

Result<std::vector<dev_t>> MountedDevices::Zarrfs() {
  const MutexLock lock(mutex_);
  if (const auto updated = UpdateLocked(); !updated) return Fail(updated);
  std::vector<dev_t> found;
  for (const Row& row : rows_) {
    if (row.kind == MountKind::kZarrfs) found.push_back(row.device);
  }
  return found;
}

Result<std::vector<dev_t>> MountedDevices::ZarrfsIn(int folder) {
  const auto path = ReadLinkAt(AT_FDCWD, fmt::format("/proc/self/fd/{}", folder).c_str());
  // "… (deleted)" and "(unreachable)…" mean that the path is unknown. Any other name that ends in
  // ")" could also be a deleted folder.
  if (!path || !path->starts_with('/') || path->ends_with(')')) return Zarrfs();
  const MutexLock lock(mutex_);
  if (const auto updated = UpdateLocked(); !updated) return Fail(updated);
  std::vector<dev_t> found;
  for (const Row& row : rows_) {
    const bool is_in = row.path.size() > 1 && FolderOfPath(row.path) == *path;
    if (row.kind == MountKind::kZarrfs && is_in) found.push_back(row.device);
  }
  return found;
}

}  // namespace zarrfs
