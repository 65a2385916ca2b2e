#include "fs/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "fs/exit_code.h"
#include "fs/log.h"
#include "fs/mount_control.h"
#include "fs/mountpoint.h"

namespace zarrfs {
namespace {

std::string PidColumn(const MountAnswer& answer) {
  switch (answer.state) {
    case MountState::kDead:
      return "dead";
    case MountState::kSilent:
      return "silent";
    case MountState::kAnswers:
    case MountState::kHidden:
      break;
  }
  return answer.pid ? std::to_string(*answer.pid) : "-";
}

}  // namespace

int ListMounts() {
  const std::vector<Mounted> mounts = ZarrfsMounts();
  size_t width = 0;
  for (const Mounted& mounted : mounts) width = std::max(width, OneLine(mounted.path).size());
  for (const Mounted& mounted : mounts) {
    fmt::print("{:>7} {:<{}} {}\n", PidColumn(AskMount(mounted)), OneLine(mounted.path), width,
               OneLine(mounted.source));
    std::fflush(stdout);  // asking the next one copies this process, and what it still has to say
  }
  return std::ferror(stdout) == 0 ? kExitDone : kExitSystem;
}

int UnmountCommand(const std::string& mountpoint) {
  const auto fail = [](std::string_view message) {
    PrintError(message);
    return kExitMountFailed;
  };
  std::string path = AbsolutePath(mountpoint);
  auto mounted = FindMount(path);
  if (!mounted) {
    // A name with symbolic links on the way.
    const auto resolved = ResolveParent(mountpoint);
    if (!resolved) return fail(resolved.error().message);
    path = *resolved;
    mounted = FindMount(path);
  }
  if (!mounted) return fail(fmt::format("{} is not mounted (zarrfs --list shows what is)", path));
  if (mounted->type != kMountType) {
    return fail(fmt::format("{} is no zarrfs mount, but one of {}", path, mounted->type));
  }
  auto unmounted = Unmount(path, /*detach=*/false);
  if (!unmounted && AskMount(*mounted).state == MountState::kDead) {
    unmounted = Unmount(path, /*detach=*/true);
  }
  if (unmounted) return kExitDone;
  if (unmounted.error().code == ErrorCode::kWouldBlock) {
    return fail(fmt::format("{} is busy: end the programs that use it (fuser -vm {} names them)",
                            path, path));
  }
  return fail(fmt::format("{} cannot be unmounted: {}", path, unmounted.error().message));
}

}  // namespace zarrfs
