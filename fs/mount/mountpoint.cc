#include "fs/mount/mountpoint.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "fs/mount/dead_mount.h"
#include "fs/mount/given_connection.h"
#include "fs/mount/mount_control.h"
#include "zarrcore/disk/disk_cache.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/net/cache_address.h"
#include "zarrcore/open/source.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/mount_table.h"
#include "zarrcore/os/removal.h"

namespace zarrfs {
namespace {

bool LooksLikeStore(const std::string& folder) {
  return std::ranges::any_of(std::array{kZarrJson, kZgroup, kZarray}, [&](std::string_view name) {
    return access(fmt::format("{}/{}", folder, name).c_str(), F_OK) == 0;
  });
}

// Returns a hint for the message about an invalid STORE if the two paths seem to be swapped;
// otherwise "".
std::string_view OrderHint(const MountOptions& options) {
  return !LooksLikeStore(options.source.text()) && LooksLikeStore(options.mountpoint)
             ? " (is the order STORE MNT?)"
             : "";
}

// Checks the locations of virtual=. A local folder must exist and must not be below `mountpoint`,
// which is a path as in the kernel's mount table.
Result<void> CheckVirtualPrefixes(const MountOptions& options, const std::string& mountpoint) {
  const auto fetched = options.source.Fetched(options.remote, options.virtual_prefixes);
  if (!fetched) return Fail(fetched);
  if (*fetched && !options.source.needs_fetcher()) {
    auto prepared = PrepareCacheFolder(options.remote.disk_cache);
    if (!prepared) return prepared;
  }
  for (const VirtualPrefix& prefix : options.virtual_prefixes) {
    if (!prefix.is_local()) continue;
    struct stat info = {};
    const std::string folder = prefix.Path();
    const int error = stat(folder.c_str(), &info) != 0 ? errno
                      : S_ISDIR(info.st_mode)          ? 0
                                                       : ENOTDIR;
    if (error != 0) {
      return Fail(FromErrno(error), "virtual={}: {}: {}", prefix.Text(), folder, ErrnoText(error));
    }
    std::error_code ignored;
    if (LiesIn(std::filesystem::canonical(folder, ignored).string(), mountpoint)) {
      return Fail(ErrorCode::kInvalidArgument, "virtual={}: the mount at {} would hide this folder",
                  prefix.Text(), mountpoint);
    }
  }
  return {};
}

Result<void> CheckSource(const MountOptions& options) {
  if (options.source.is_address()) {
    const auto remote = options.source.Remote(options.remote);
    if (!remote) return Fail(remote);
    if (auto checked = CheckCaches(*remote); !checked) return checked;
    return PrepareCacheFolder(options.remote.disk_cache);
  }
  if (!options.remote.caches.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "via={}: {} is on this machine; only a store in a bucket or on a web server is "
                "read through a cache",
                options.remote.caches.front(), options.source.text());
  }
  const Location location = options.source.Locate();
  if (!location.file.empty()) return {};  // the worker checks files
  const std::string& source = location.folder;
  struct stat info = {};
  if (stat(source.c_str(), &info) != 0) {
    if (errno == ENOENT) {
      const std::string_view hint = source.find(" #") == source.npos
                                        ? OrderHint(options)
                                        : "; comments must be on separate lines";
      return Fail(ErrorCode::kNotFound, "{} does not exist{}", source, hint);
    }
    return Fail(FromErrno(errno), "{} cannot be read: {}", source, ErrnoText(errno));
  }
  if (!S_ISDIR(info.st_mode)) {
    return Fail(
        ErrorCode::kNotADirectory,
        "{} is neither a folder nor a zip file (.zip, .ozx) or reference set (.json), so it is not "
        "a Zarr store",
        source);
  }
  return {};
}

tl::unexpected<Error> CannotUse(const std::string& mountpoint, int error) {
  return Fail(FromErrno(error), "mount point {} cannot be used: {}", mountpoint, ErrnoText(error));
}

// Returns the dead zarrfs mount at `path`, if any. Fails if `path` is a live zarrfs mount.
Result<MountPoint> FindDeadMount(const std::string& path) {
  auto mounted = FindMount(path);
  if (!mounted || mounted->type != kMountType) return MountPoint{path, std::nullopt, nullptr};
  if (AskMount(*mounted).state == MountState::kDead)
    return MountPoint{path, std::move(mounted), nullptr};
  return Fail(ErrorCode::kInvalidArgument,
              "{} is already mounted (a zarrfs mount of {}): unmount it first with {} {}", path,
              mounted->source, geteuid() == 0 ? "umount" : "fusermount3 -u", path);
}

Result<std::string> RealPath(const std::string& path, const std::string& mountpoint) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (!error) return real.string();
  if (error.value() == ENOENT) {
    return Fail(ErrorCode::kNotFound, "mount point {} does not exist{}", mountpoint,
                Source(mountpoint).needs_fetcher() ? " (is the order STORE MNT?)"
                                                   : ": create it with mkdir");
  }
  if (error.value() == ENOTCONN) {
    return Fail(ErrorCode::kIo, "mount point {} is below a dead mount: unmount that mount first",
                mountpoint);
  }
  return CannotUse(mountpoint, error.value());
}

// Before each step of resolving the path, looks for a mount there, because a mount that does not
// answer would block the step. The mount table contains only resolved paths, so a path that is
// found needs no further step.
Result<MountPoint> ResolveMountPoint(const std::string& mountpoint) {
  auto found = FindDeadMount(AbsolutePath(mountpoint));
  if (!found || found->dead) return found;
  found = ResolveParent(mountpoint).and_then(FindDeadMount);
  if (!found || found->dead) return found;
  return RealPath(found->path, mountpoint).and_then(FindDeadMount);
}

// True if the dead mount at `mountpoint` hides the source, so the source cannot be opened while
// that mount exists.
bool IsHidden(const Source& source, const std::string& mountpoint) {
  if (source.needs_fetcher()) return false;
  if (LiesIn(AbsolutePath(source.text()), mountpoint)) return true;
  const auto resolved = ResolveParent(source.text());
  return resolved && LiesIn(*resolved, mountpoint);
}

// `place` leads to the mount point and is used in system calls; `path` is the mount point's name in
// messages.
Result<void> CheckFolder(const std::string& place, const std::string& path,
                         const MountOptions& options) {
  struct stat info = {};
  if (stat(place.c_str(), &info) != 0) return CannotUse(path, errno);
  if (!S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kNotADirectory, "mount point {} is not a directory", path);
  }
  if (options.nonempty) return {};
  // Opening an automount point would trigger the mount that is being made, so the folder is not
  // opened.
  if (const auto top = FindMount(path); top && top->type == "autofs") return {};
  // A folder without list permission is a valid mount point.
  std::error_code error;
  if (!std::filesystem::is_empty(place, error) && !error) {
    if (const auto hint = OrderHint(options); !hint.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "{} is a Zarr store, and {} is not{}", path,
                  options.source.text(), hint);
    }
    return Fail(ErrorCode::kInvalidArgument,
                "mount point {} is not empty: choose another, or mount over it with -o nonempty",
                path);
  }
  return {};
}

Result<void> CheckDevice() {
  if (access("/dev/fuse", F_OK) != 0) {
    return Fail(ErrorCode::kNotFound,
                "/dev/fuse is missing: load the fuse module (modprobe fuse) or pass the device "
                "into the container");
  }
  // Checked even if fusermount3 mounts, because it opens the device with its caller's rights.
  if (Descriptor(open("/dev/fuse", O_RDWR | O_CLOEXEC))) return {};
  if (errno == ENODEV || errno == ENXIO) {
    return Fail(ErrorCode::kNotFound,
                "no driver serves /dev/fuse: load the fuse module (modprobe fuse)");
  }
  return Fail(FromErrno(errno), "/dev/fuse cannot be opened ({}): {}", ErrnoText(errno),
              geteuid() == 0 ? "pass the device into the container"
                             : "set its mode to 0666, or mount as root");
}

bool IsOnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path != nullptr ? path : "") + ":/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool UsersMayAllowOthers() {
  std::ifstream file("/etc/fuse.conf");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (words >> word && word == "user_allow_other" && !(words >> word)) return true;
  }
  return false;
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  std::error_code ignored;
  std::string absolute;
  for (const auto& part : std::filesystem::absolute(path, ignored)) {
    if (!part.empty() && part != "/" && part != ".") absolute += "/" + part.string();
  }
  return absolute.empty() ? "/" : absolute;
}

Result<std::string> ResolveParent(const std::string& mountpoint) {
  const std::string absolute = AbsolutePath(mountpoint);
  const size_t slash = absolute.rfind('/');
  const std::string name = absolute.substr(slash + 1);
  return RealPath(slash == 0 ? "/" : absolute.substr(0, slash), mountpoint)
      .map([&](const std::string& parent) {
        return parent == "/" ? "/" + name : parent + "/" + name;
      });
}

// CheckMount() for a connection that another program mounted. Does not access the mount point,
// which is in another mount namespace.
Result<MountPoint> CheckGiven(const MountOptions& options, int number) {
  if (const auto source = CheckSource(options); !source) return Fail(source);
  if (const auto folders = CheckVirtualPrefixes(options, options.mountpoint); !folders)
    return Fail(folders);
  MountPoint point{options.mountpoint, std::nullopt};
  if (options.fake) return point;
  return TakeConnection(number).map([&](Descriptor&& device) {
    point.given = std::make_shared<Descriptor>(std::move(device));
    return std::move(point);
  });
}

Result<MountPoint> CheckMount(const MountOptions& options) {
  if (const auto number = GivenConnection(options.mountpoint)) return CheckGiven(options, *number);
  // Checks the mount point before STORE, because STORE may be below it, and a hung mount there
  // would also block STORE.
  auto mountpoint = ResolveMountPoint(options.mountpoint);
  if (!mountpoint) return mountpoint;
  if (mountpoint->dead && !options.fake && IsHidden(options.source, mountpoint->path)) {
    if (const auto cleared = ClearDeadMounts(mountpoint->path); !cleared) return Fail(cleared);
    spdlog::warn(
        "{}: removed the dead mount of a zarrfs process that was killed, because it hid {}",
        mountpoint->path, options.source.text());
    mountpoint->dead.reset();
  }
  if (const auto source = CheckSource(options); !source) return Fail(source);
  if (const auto folders = CheckVirtualPrefixes(options, mountpoint->path); !folders)
    return Fail(folders);
  if (mountpoint->dead) {
    // The folder below the dead mount cannot be checked, but the dead mount was once made on it.
    spdlog::warn("{}: the new mount replaces the dead mount of a zarrfs process that was killed",
                 mountpoint->path);
  } else {
    std::string place = mountpoint->path;
    if (geteuid() == 0) {
      auto held = MountFolder::Open(place);
      if (!held) return Fail(held);
      place = fmt::format("/proc/self/fd/{}", held->folder().get());
      mountpoint->folder = std::make_shared<MountFolder>(*std::move(held));
    }
    const auto checked = CheckFolder(place, mountpoint->path, options);
    if (!checked) return Fail(checked);
  }
  if (const auto device = CheckDevice(); !device) return Fail(device);
  if (geteuid() != 0) {
    if (!IsOnPath("fusermount3")) {
      return Fail(ErrorCode::kNotFound, "fusermount3 is missing: install the package fuse3");
    }
    if (options.allow_other.value_or(false) && !UsersMayAllowOthers()) {
      return Fail(ErrorCode::kPermissionDenied,
                  "allow_other: add user_allow_other to /etc/fuse.conf or mount as root");
    }
  }
  return mountpoint;
}

MadeMountPoint MadeMountPoint::Make(const std::string& path) {
  MadeMountPoint made;
  made.path_ = AbsolutePath(path);
  const std::string folder = made.path_.substr(0, made.path_.rfind('/'));
  Descriptor parent(open(folder.empty() ? "/" : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name = made.path_.substr(folder.size() + 1);
  if (parent && mkdirat(parent.get(), name.c_str(), 0755) == 0) made.parent_ = std::move(parent);
  return made;
}

void MadeMountPoint::Remove() {
  if (!parent_) return;
  const std::string name = path_.substr(path_.rfind('/') + 1);
  if (!RemoveFolder(parent_.get(), name.c_str()) && errno != EBUSY && errno != ENOENT) {
    spdlog::warn("{} cannot be removed: {}", path_, ErrnoText(errno));
  }
  parent_.reset();
}

}  // namespace zarrfs
