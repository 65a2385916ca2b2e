#include "fs/program/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/mount/dead_mount.h"
#include "fs/mount/keeper_name.h"
#include "fs/mount/mount_control.h"
#include "fs/mount/mountpoint.h"
#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/options/settings.h"
#include "fs/process/opening.h"
#include "fs/process/upgrade.h"
#include "fs/program/daemon.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

std::string PidColumn(const MountAnswer& answer) {
  if (answer.state == MountState::kDead) return "dead";
  if (answer.state == MountState::kSilent) return "silent";
  return answer.pid ? std::to_string(*answer.pid) : "-";
}

// The version of the worker, and also that of the keeper if they differ.
std::string VersionColumn(const MountAnswer& answer) {
  const std::string version = OneLine(answer.Option("version"));
  const std::string keeper = OneLine(answer.Option("keeper version"));
  if (version.empty()) return "-";
  return keeper.empty() || keeper == version ? version
                                             : fmt::format("{} (keeper {})", version, keeper);
}

int FailWith(std::string_view message) {
  PrintError(message);
  return kExitMountFailed;
}

// Finds the topmost zarrfs mount at a folder, whose path may contain symbolic links.
Result<Mounted> FindOurs(const std::string& mountpoint) {
  std::string path = AbsolutePath(mountpoint);
  auto mounted = FindMount(path);
  if (!mounted) {
    auto resolved = ResolveParent(mountpoint);
    if (!resolved) return Fail(resolved);
    path = *std::move(resolved);
    mounted = FindMount(path);
  }
  if (!mounted) {
    return Fail(ErrorCode::kNotFound, "{} is not mounted (zarrfs --list shows the mounts)", path);
  }
  if (mounted->type != kMountType) {
    return Fail(ErrorCode::kInvalidArgument, "{} is a mount of {}, not of zarrfs", path,
                mounted->type);
  }
  return *std::move(mounted);
}

// True if the process `pid` is zarrfs and, if `user` is given, runs as that user. A pid read from
// .zarrfs/options cannot be trusted: it may belong to another container or machine, or the user who
// controls the mount may have made it up.
bool IsKeeperOf(std::optional<uid_t> user, pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  bool is_zarrfs = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Name:")) is_zarrfs = line.find("zarrfs") != std::string::npos;
    if (!line.starts_with("Uid:")) continue;
    return is_zarrfs && (!user || line.starts_with(fmt::format("Uid:\t{}\t", *user)));
  }
  return false;
}

// The worker's problem according to its keeper; "" if the worker has none, or this user may not
// query the keeper.
std::string AlarmOf(const Mounted& mounted, const MountAnswer& answer) {
  if (mounted.user != geteuid() && geteuid() != 0) return "";
  const std::vector<pid_t> keepers =
      answer.pid ? std::vector{*answer.pid} : NamedKeepers(mounted.device);
  for (const pid_t keeper : keepers) {
    if (!IsKeeperOf(mounted.user, keeper)) continue;
    if (const auto alarm = AskForAlarm(keeper, mounted.device)) return OneLine(*alarm);
  }
  return "";
}

// Prints the keepers of mounts that other programs made. The mount table does not show these as
// mounts of zarrfs. Root sees all of them, other users only their own.
void ListGivenMounts() {
  const auto user = geteuid() == 0 ? std::nullopt : std::optional(geteuid());
  for (const pid_t keeper : NamedKeepers(kGivenMount)) {
    if (IsKeeperOf(user, keeper)) {
      fmt::print("{:>7} (a mount that was given as a descriptor)\n", keeper);
    }
  }
}

// Sets the flags that a remount may change. The other flags are the same for every mount.
Result<void> SetFlags(const Mounted& mounted, const MountOptions& options) {
  const std::vector<std::string> now = SplitOptions(mounted.options);
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;
  bool differs = false;
  const auto set = [&](const char* name, unsigned long on, unsigned long off) {
    const bool wanted =
        std::ranges::find(options.kernel_options, name) != options.kernel_options.end();
    flags |= wanted ? on : off;
    differs |= wanted != (std::ranges::find(now, name) != now.end());
  };
  constexpr unsigned long kNoLinks = 256;  // MS_NOSYMFOLLOW, which older headers lack
  if (std::ranges::find(now, "nosymfollow") != now.end()) flags |= kNoLinks;
  set("noexec", MS_NOEXEC, 0);
  set("noatime", MS_NOATIME, MS_RELATIME);
  if (!differs || mount(nullptr, mounted.path.c_str(), nullptr, flags, nullptr) == 0) return {};
  return Fail(FromErrno(errno), "{} cannot be remounted with other flags: {}", mounted.path,
              ErrnoText(errno));
}

Result<void> Upgraded(const Mounted& mounted, const MountAnswer& answer, bool verbose) {
  const std::string& path = mounted.path;
  if (answer.state == MountState::kDead) {
    return Fail(ErrorCode::kIo, "{} is dead: mount it again", path);
  }
  if (answer.state == MountState::kSilent) {
    return Fail(ErrorCode::kTimedOut, "{} does not answer", path);
  }
  if (answer.state == MountState::kHidden) {
    return Fail(ErrorCode::kPermissionDenied,
                "{} was mounted by another user: only that user and root can upgrade it", path);
  }
  if (answer.Option("start_format").empty() || !answer.pid ||
      !IsKeeperOf(mounted.user, *answer.pid)) {
    return Fail(ErrorCode::kUnsupported,
                "{} cannot be upgraded (the zarrfs that serves it is too old, uses io_uring, or "
                "runs in a container): unmount it and mount it again",
                path);
  }
  const std::string before = answer.Option("version");
  if (const auto asked = AskForUpgrade(*answer.pid, "/proc/self/exe"); !asked) {
    return Fail(asked.error().code, "{} was not upgraded from zarrfs {}: {}", path, before,
                asked.error().message);
  }
  if (verbose) {
    fmt::print("zarrfs: {} is now served by zarrfs {} instead of {}\n", path, ZARRFS_VERSION,
               before);
    std::fflush(stdout);  // AskMount() forks, and the child must not print buffered output again
  }
  return {};
}

// Fails if the mount shows a store other than that of `options`.
Result<void> CheckSameStore(const Mounted& mounted, const MountOptions& options) {
  std::error_code error;
  const Source source(mounted.source);
  if (options.source == source) return {};
  const bool are_paths = !options.source.needs_fetcher() && !source.needs_fetcher();
  if (are_paths &&
      (std::filesystem::equivalent(options.source.text(), source.text(), error) || error)) {
    return {};
  }
  return Fail(ErrorCode::kInvalidArgument,
              "{} is a mount of {}: unmount it to mount another store there", mounted.path,
              mounted.source);
}

}  // namespace

int ListMounts() {
  const std::vector<Mounted> mounts = ZarrfsMounts();
  size_t width = 0;
  size_t source_width = 0;
  for (const Mounted& mounted : mounts) {
    width = std::max(width, OneLine(mounted.path).size());
    source_width = std::max(source_width, OneLine(mounted.source).size());
  }
  std::vector<std::string> dead;
  std::vector<std::string> alarms;
  std::vector<std::string> without_store;
  std::vector<std::string> errors_only;
  std::vector<std::string> others;
  for (const Mounted& mounted : mounts) {
    const MountAnswer answer = AskMount(mounted);
    fmt::print("{:>7} {:<{}} {:<{}} {}\n", PidColumn(answer), OneLine(mounted.path), width,
               OneLine(mounted.source), source_width, VersionColumn(answer));
    std::fflush(stdout);  // AskMount() forks, and the child must not print buffered output again
    if (answer.state == MountState::kDead) dead.push_back(mounted.path);
    if (const std::string alarm = AlarmOf(mounted, answer); !alarm.empty()) {
      alarms.push_back(fmt::format("{}: the worker is {}", mounted.path, alarm));
    }
    if (const std::string version = answer.Option("version");
        !version.empty() && version != ZARRFS_VERSION) {
      others.push_back(
          fmt::format("{} is served by zarrfs {}, but this is {}: run zarrfs --upgrade {}",
                      mounted.path, version, ZARRFS_VERSION, mounted.path));
    }
    if (const std::string store = answer.Option("store"); !store.empty() && store != "there") {
      without_store.push_back(fmt::format("{}: the store is {}", mounted.path, store));
    }
    if (const std::string serves = answer.Option("serves"); !serves.empty()) {
      errors_only.push_back(
          fmt::format("{} serves {}; end it with zarrfs --unmount {}, and mount it again",
                      mounted.path, serves, mounted.path));
    }
  }
  ListGivenMounts();
  for (const std::string& line : alarms) PrintError(line);
  for (const std::string& line : without_store) PrintError(line);
  for (const std::string& line : errors_only) PrintError(line);
  for (const std::string& line : others) PrintError(line);
  for (const std::string& path : dead) {
    PrintError(fmt::format(
        "{} is dead, its process was killed: mount it again, or end it with zarrfs --unmount {}",
        path, path));
  }
  return std::ferror(stdout) == 0 ? kExitDone : kExitSystem;
}

int UnmountCommand(const std::string& mountpoint) {
  const auto mounted = FindOurs(mountpoint);
  if (!mounted) return FailWith(mounted.error().message);
  const std::string& path = mounted->path;
  auto unmounted = Unmount(path, /*detach=*/false);
  if (!unmounted) {
    // A mount that only returns errors is detached even if it is in use.
    const MountAnswer answer = AskMount(*mounted);
    if (answer.state == MountState::kDead || !answer.Option("serves").empty()) {
      unmounted = Unmount(path, /*detach=*/true);
    }
  }
  // The mount may have covered the dead mount that it replaced. The dead mount is now on top.
  if (unmounted) unmounted = ClearDeadMounts(path);
  if (unmounted) return kExitDone;
  if (geteuid() != 0 && mounted->user != geteuid()) {
    const bool by_root = mounted->user == 0;
    return FailWith(
        fmt::format("{} was mounted by {}: only {} can unmount it", path,
                    by_root ? "root" : fmt::format("another user (uid {})", mounted->user),
                    by_root ? "root" : "that user and root"));
  }
  if (unmounted.error().code == ErrorCode::kWouldBlock) {
    return FailWith(fmt::format(
        "{} is busy: end the programs that use it (fuser -vm {} names them)", path, path));
  }
  return FailWith(fmt::format("{} cannot be unmounted: {}", path, unmounted.error().message));
}

int CheckCommand(MountOptions options) {
  options.fake = true;
  const auto mounted = FindOurs(options.mountpoint);
  if (!mounted) return RunDaemon(std::move(options));
  const MountAnswer answer = AskMount(*mounted);
  if (answer.state == MountState::kDead) return RunDaemon(std::move(options));
  if (const auto same = CheckSameStore(*mounted, options); !same) {
    return FailWith(same.error().message);
  }
  if (const auto opened = TryOpening(options); !opened) return FailWith(opened.error().message);
  // If the mount does not answer, its settings are unknown, so they are not compared.
  if (answer.state != MountState::kAnswers) return kExitDone;
  const bool by_root = mounted->user == 0;
  if (const auto changed = ChangedWords(options, answer.Option("options"), by_root);
      !changed.empty()) {
    PrintError(fmt::format("{} must be unmounted and mounted again to change {}", mounted->path,
                           fmt::join(changed, ",")));
  }
  return kExitDone;
}

int UpgradeCommand(const std::string& mountpoint, bool verbose) {
  const auto mounted = FindOurs(mountpoint);
  if (!mounted) return FailWith(mounted.error().message);
  const auto upgraded = Upgraded(*mounted, AskMount(*mounted), verbose);
  return upgraded ? kExitDone : FailWith(upgraded.error().message);
}

int UpgradeAllCommand(bool verbose) {
  int code = kExitDone;
  for (const Mounted& mounted : ZarrfsMounts()) {
    const MountAnswer answer = AskMount(mounted);
    if (answer.state == MountState::kDead || answer.state == MountState::kHidden) continue;
    if (const auto upgraded = Upgraded(mounted, answer, verbose); !upgraded) {
      code = FailWith(upgraded.error().message);
    }
  }
  return code;
}

int RemountCommand(const MountOptions& options) {
  const auto mounted = FindOurs(options.mountpoint);
  if (!mounted) return FailWith(mounted.error().message);
  const std::string& path = mounted->path;
  if (const auto same = CheckSameStore(*mounted, options); !same) {
    return FailWith(same.error().message);
  }
  const MountAnswer answer = AskMount(*mounted);
  if (answer.state == MountState::kDead) {
    return FailWith(fmt::format("{} is dead: mount it again, without remount", path));
  }
  if (answer.state == MountState::kSilent) return FailWith(path + " does not answer");
  if (answer.state == MountState::kHidden) {
    return FailWith(path + " was mounted by another user: only that user can remount it");
  }
  if (const auto changed =
          ChangedWords(options, answer.Option("options"), /*by_root=*/mounted->user == 0);
      !changed.empty()) {
    return FailWith(fmt::format("{} must be unmounted and mounted again to change {}", path,
                                fmt::join(changed, ",")));
  }
  if (options.fake) return kExitDone;
  if (const auto set = SetFlags(*mounted, options); !set) return FailWith(set.error().message);
  if (!answer.pid || !IsKeeperOf(mounted->user, *answer.pid)) return kExitDone;
  // The keeper rereads its configuration file in both branches: for new settings and for SIGHUP.
  if (const std::string live = LiveSettings(options); !live.empty()) {
    const auto asked = AskToSet(*answer.pid, live);
    if (!asked) return FailWith(fmt::format("{}: {}: {}", path, live, asked.error().message));
  } else if (!answer.Option("config").empty() && kill(*answer.pid, SIGHUP) != 0) {
    return FailWith(
        fmt::format("{} cannot reload {}: {}", path, answer.Option("config"), ErrnoText(errno)));
  }
  return kExitDone;
}

}  // namespace zarrfs
