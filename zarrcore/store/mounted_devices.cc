#include "zarrcore/store/mounted_devices.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::array<std::string_view, 15> kKernelTypes = {
    "proc",    "sysfs",    "securityfs", "debugfs", "tracefs",     "cgroup", "cgroup2", "configfs",
    "fusectl", "efivarfs", "pstore",     "bpf",     "binfmt_misc", "devpts", "mqueue"};

Result<std::vector<Mounted>> ReadTable() {
  std::vector<Mounted> table = MountTable();
  if (table.empty()) return Fail(ErrorCode::kIo, "/proc/self/mountinfo cannot be read");
  return table;
}

}  // namespace

Result<MountKind> MountedDevices::KindOf(int fd, dev_t device) {
  auto found = std::ranges::find(table_, device, &Mounted::device);
  if (found == table_.end()) {  // it may have been mounted since: read after the device was seen
    auto table = ReadTable();
    if (!table) return Fail(table);
    table_ = *std::move(table);
    found = std::ranges::find(table_, device, &Mounted::device);
  }
  if (found == table_.end()) {
    // A subvolume (Btrfs), or a mount of another namespace. Neither is a zarrfs mount that this
    // process could be the one to answer for.
    struct statfs file_system;
    if (fstatfs(fd, &file_system) != 0) return MountKind::kPlain;
    const bool is_kernel =
        file_system.f_type == PROC_SUPER_MAGIC || file_system.f_type == SYSFS_MAGIC;
    return is_kernel ? MountKind::kKernel : MountKind::kPlain;
  }
  if (found->type == kMountType) return MountKind::kZarrfs;
  if (found->type == "autofs") return MountKind::kAutomount;
  return std::ranges::find(kKernelTypes, found->type) != kKernelTypes.end() ? MountKind::kKernel
                                                                            : MountKind::kPlain;
}

Result<std::vector<dev_t>> MountedDevices::Zarrfs() {
  const auto table = ReadTable();
  if (!table) return Fail(table);
  std::vector<dev_t> devices;
  for (const Mounted& mounted : *table) {
    if (mounted.type == kMountType) devices.push_back(mounted.device);
  }
  return devices;
}

}  // namespace zarrfs
