#include "zarrcore/local/mounted_devices.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>

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
  devices_.clear();
  for (const Mounted& mounted : table) {
    devices_.emplace_back(mounted.device, KindOfType(mounted.type));
  }
  return {};
}

Result<MountKind> MountedDevices::KindOf(int fd, dev_t device) {
  const auto find = [&] {
    return std::ranges::find(devices_, device, [](const auto& row) { return row.first; });
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto updated = UpdateLocked(); !updated) return Fail(updated);
    auto found = find();
    if (found == devices_.end()) {  // perhaps it has just been mounted
      if (const auto updated = ReadLocked(); !updated) return Fail(updated);
      found = find();
    }
    if (found != devices_.end()) return found->second;
  }
  // A Btrfs subvolume, or a mount of another namespace. Neither can be a zarrfs mount that this
  // process serves.
  struct statfs file_system;
  if (fstatfs(fd, &file_system) != 0) return MountKind::kPlain;
  const bool is_kernel =
      file_system.f_type == PROC_SUPER_MAGIC || file_system.f_type == SYSFS_MAGIC;
  return is_kernel ? MountKind::kKernel : MountKind::kPlain;
}

Result<std::vector<dev_t>> MountedDevices::Zarrfs() {
  const std::lock_guard lock(mutex_);
  if (const auto updated = UpdateLocked(); !updated) return Fail(updated);
  std::vector<dev_t> found;
  for (const auto& [device, kind] : devices_) {
    if (kind == MountKind::kZarrfs) found.push_back(device);
  }
  return found;
}

}  // namespace zarrfs
