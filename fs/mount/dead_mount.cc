#include "fs/mount/dead_mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/fuse/connection.h"
#include "fs/mount/mount_control.h"
#include "fs/mount/mount_folder.h"

// MOVE_MOUNT_BENEATH exists since Linux 6.5; the headers may be older.
#ifndef MOVE_MOUNT_BENEATH
#define MOVE_MOUNT_BENEATH 0x00000200
#endif
// STATX_MNT_ID_UNIQUE exists since Linux 6.8; the headers may be older.
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

namespace zarrfs {
namespace {

// A path that leads to the mount of this descriptor, even if another mount covers it later.
std::string PathOf(const Descriptor& mount) { return fmt::format("/proc/self/fd/{}", mount.get()); }

bool IsDead(const Mounted& mounted) {
  return mounted.type == kMountType && AskMount(mounted).state == MountState::kDead;
}

// Opens the file that aborts a connection when it is written. Empty if this process cannot open it.
Descriptor OpenAbort(dev_t number) {
  const std::string name = fmt::format("{}/abort", minor(number));
  Descriptor file(open(("/sys/fs/fuse/connections/" + name).c_str(), O_WRONLY | O_CLOEXEC));
  if (file) return file;
  // The fusectl file system is not mounted, so it is mounted privately.
  const Descriptor context(fsopen("fusectl", FSOPEN_CLOEXEC));
  if (!context || fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  const Descriptor mount(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  return Descriptor(openat(mount.get(), name.c_str(), O_WRONLY | O_CLOEXEC));
}

tl::unexpected<Error> CannotReplace(std::string_view what) {
  const int error = errno;
  const bool refused = error == EPERM || error == EACCES;
  return Fail(refused ? ErrorCode::kPermissionDenied : ErrorCode::kUnsupported, "{}: {}", what,
              ErrnoText(error));
}

}  // namespace

Result<Replacement> ReplaceDeadMount(const MountOptions& options, const Mounted& dead) {
  // A dead mount that covers another dead mount is not needed to hide the folder, so it is
  // detached.
  std::vector<Mounted> there = MountsAt(dead.path);
  while (there.size() > 1 && there[there.size() - 2].type == kMountType && IsDead(there.back())) {
    if (auto detached = Unmount(dead.path, /*detach=*/true); !detached) return Fail(detached);
    there = MountsAt(dead.path);
  }
  const Descriptor place = OpenWithoutLinks(dead.path);
  if (there.empty() || !place || (there.back().device != dead.device && !IsDead(there.back()))) {
    return Fail(ErrorCode::kNotFound, "{}: the dead mount no longer exists", dead.path);
  }
  Descriptor device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device) return CannotReplace("/dev/fuse");
  const Descriptor mount = NewMount(options, device);
  if (!mount) return CannotReplace("fsopen");
  if (Attach(mount, place, MOVE_MOUNT_BENEATH)) {
    // Unmounts through the descriptor, because the dead mount may have been detached in the
    // meantime, and its path may now lead to another mount.
    if (umount2(PathOf(place).c_str(), MNT_DETACH) != 0 && errno != EINVAL) {
      spdlog::warn("{}: the dead mount cannot be detached: {}", dead.path, ErrnoText(errno));
    }
    return Replacement{.device = std::move(device), .dead = there.back().device};
  }
  if (!Attach(mount, place, 0)) return CannotReplace("move_mount");
  return Replacement{.device = std::move(device), .dead = there.back().device, .covers_dead = true};
}

Result<void> ClearDeadMounts(const std::string& path) {
  for (auto top = FindMount(path); top && IsDead(*top); top = FindMount(path)) {
    if (auto detached = Unmount(path, /*detach=*/true); !detached) return detached;
  }
  return {};
}

void AbortConnection(const Descriptor& device, dev_t number, const std::string& path) {
  // The kernel does not reuse the device number while this mount's connection exists. So if the
  // connection still exists after the abort file was opened, the file belongs to this connection.
  const Descriptor abort = OpenAbort(number);
  if (abort && IsConnected(device) && write(abort.get(), "1", 1) == 1) return;
  // A forced unmount first aborts the connection, like the abort file. The unmount itself then
  // fails, because the open descriptor keeps the mount busy.
  const Descriptor place = OpenWithoutLinks(path);
  if (!place) return;
  const uint64_t id = MountIdOf(place);
  const std::vector<Mounted> table = MountTable();
  const auto is_it = [&](const Mounted& mounted) {
    return mounted.id == id && mounted.device == number;
  };
  if (std::ranges::any_of(table, is_it) && IsConnected(device)) {
    umount2(PathOf(place).c_str(), MNT_FORCE);
  }
}

uint64_t UniqueMountId(const std::string& path) {
  const Descriptor place = OpenWithoutLinks(path);
  struct statx info = {};
  const bool is_known = place && statx(place.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                                       STATX_MNT_ID_UNIQUE, &info) == 0;
  return is_known && (info.stx_mask & STATX_MNT_ID_UNIQUE) != 0 ? info.stx_mnt_id : 0;
}

}  // namespace zarrfs
