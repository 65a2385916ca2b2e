#include "fs/mount/mount_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "fs/mount/session.h"
#include "zarrcore/local/open_at.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {
namespace {

// An attribute of a mount, as bits for fsmount(2) and mount(2).
struct Attribute {
  std::string_view name;
  unsigned attribute;
  unsigned flag;
};
constexpr Attribute kAttributes[] = {{"ro", MOUNT_ATTR_RDONLY, MS_RDONLY},
                                     {"nosuid", MOUNT_ATTR_NOSUID, MS_NOSUID},
                                     {"nodev", MOUNT_ATTR_NODEV, MS_NODEV},
                                     {"noexec", MOUNT_ATTR_NOEXEC, MS_NOEXEC},
                                     {"noatime", MOUNT_ATTR_NOATIME, MS_NOATIME}};

// A mount shows no symbolic links. With this attribute, a compromised worker cannot make the kernel
// follow one. Needs Linux 5.10; mount(2) of older kernels ignores it.
constexpr Attribute kNoLinks = {"nosymfollow", 0x00200000, 256};

// Calls `set` for each mount option that is a parameter of the file system; the value of a flag is
// "". Skips the source, which may have quotes and commas. Returns the attributes for fsmount(2) and
// mount(2).
using SetParameter = std::function<void(const std::string& name, const std::string& value)>;
std::pair<unsigned, unsigned> ForEachParameter(const MountOptions& options,
                                               const Descriptor& device, const SetParameter& set) {
  set("fd", std::to_string(device.get()));
  set("rootmode", fmt::format("{:o}", unsigned{S_IFDIR}));
  set("user_id", std::to_string(getuid()));
  set("group_id", std::to_string(getgid()));
  std::pair<unsigned, unsigned> attributes = {kNoLinks.attribute, kNoLinks.flag};
  MountOptions nameless = options;
  nameless.source = Source();
  for (const std::string& word : SplitOptions(LibfuseOptions(nameless))) {
    const auto* const attribute = std::ranges::find(kAttributes, word, &Attribute::name);
    const std::string name(NameOfOption(word));
    if (attribute != std::end(kAttributes)) {
      attributes.first |= attribute->attribute;
      attributes.second |= attribute->flag;
    } else if (word == "debug" || word == "io_uring" || name == "fsname") {
      continue;  // options of libfuse itself, and the source, which callers set
    } else {
      std::string value = name == word ? "" : word.substr(name.size() + 1);
      std::erase(value, '"');  // mount(2) removes the quotes of a context, fsconfig(2) does not
      set(name, value);
    }
  }
  return attributes;
}

// Mounts with mount(2), for systems such as containers that refuse fsopen(2) and related calls.
bool MountByName(const MountFolder& folder, const MountOptions& options, const Descriptor& device) {
  std::string data;
  std::string type = "fuse";
  const auto attributes =
      ForEachParameter(options, device, [&](const std::string& name, const std::string& value) {
        if (name == "subtype") {
          type += "." + value;
          return;
        }
        if (!data.empty()) data += ',';
        data += value.empty() ? name : name + "=" + value;
      });
  return mount(options.source.text().c_str(), folder.Path().c_str(), type.c_str(),
               attributes.second, data.c_str()) == 0;
}

tl::unexpected<Error> Replaced(const std::string& path) {
  return Fail(ErrorCode::kInvalidArgument,
              "the mount point {} was replaced while the store was opened: nothing is mounted",
              path);
}

}  // namespace

Descriptor OpenWithoutLinks(const std::string& path) {
  return OpenAt2(AT_FDCWD, path.c_str(), O_PATH, RESOLVE_NO_SYMLINKS);
}

uint64_t MountIdOf(const Descriptor& place) {
  struct statx info = {};
  if (statx(place.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &info) == 0 &&
      (info.stx_mask & STATX_MNT_ID) != 0) {
    return info.stx_mnt_id;
  }
  // Kernels before Linux 5.8 have no STATX_MNT_ID. This file is only the fallback, because it
  // belongs to root if this process is not dumpable.
  std::ifstream file(fmt::format("/proc/self/fdinfo/{}", place.get()));
  uint64_t id = 0;
  for (std::string name; file >> name;) {
    if (name == "mnt_id:") file >> id;
  }
  return id;
}

MountFolder MountFolder::OpenParent(const std::string& path) {
  const size_t slash = path.rfind('/');
  std::string name = path.substr(slash + 1);
  if (name.empty()) name = ".";
  return {path, std::move(name), OpenWithoutLinks(slash == 0 ? "/" : path.substr(0, slash))};
}

Result<MountFolder> MountFolder::Open(const std::string& path) {
  MountFolder held = OpenParent(path);
  if (held.parent_) {
    held.folder_ = OpenAt2(held.parent_.get(), held.name_.c_str(), O_PATH, RESOLVE_NO_SYMLINKS);
  }
  if (!held.folder_) {
    return Fail(FromErrno(errno), "mount point {} cannot be used: {}", path, ErrnoText(errno));
  }
  held.own_mount_ = MountIdOf(held.folder_);
  return held;
}

std::string MountFolder::Path() const {
  return fmt::format("/proc/self/fd/{}/{}", parent_.get(), name_);
}

bool MountFolder::IsInPlace() const {
  const Descriptor now = OpenWithoutLinks(path_);
  const auto there = now ? GlanceAt(now.get()) : std::nullopt;
  const auto held = GlanceAt(folder_.get());
  return there && held && there->id == held->id && MountIdOf(now) == MountIdOf(folder_);
}

uint64_t MountFolder::MountIdAtPath() const {
  const Descriptor now = OpenWithoutLinks(path_);
  return now ? MountIdOf(now) : 0;
}

uint64_t MountFolder::MountIdOnTop() const {
  const Descriptor now = OpenAt2(parent_.get(), name_.c_str(), O_PATH, RESOLVE_NO_SYMLINKS);
  const uint64_t id = now ? MountIdOf(now) : 0;
  return id == MountIdOf(parent_) || id == own_mount_ ? 0 : id;
}

bool MountFolder::Unmount(bool detach) const {
  return umount2(Path().c_str(), UMOUNT_NOFOLLOW | (detach ? MNT_DETACH : 0)) == 0;
}

Descriptor NewMount(const MountOptions& options, const Descriptor& device) {
  const Descriptor context(fsopen("fuse", FSOPEN_CLOEXEC));
  if (!context) return {};
  bool good = true;
  const auto set = [&](const std::string& name, const std::string& value) {
    const unsigned command = value.empty() ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
    good = good && fsconfig(context.get(), command, name.c_str(),
                            value.empty() ? nullptr : value.c_str(), 0) == 0;
  };
  set("source", options.source.text());
  const auto attributes = ForEachParameter(options, device, set);
  // Makes the file system read-only, in addition to the mount.
  if ((attributes.first & MOUNT_ATTR_RDONLY) != 0) set("ro", "");
  if (!good || fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  Descriptor mount(fsmount(context.get(), FSMOUNT_CLOEXEC, attributes.first));
  if (!mount && errno == EINVAL) {
    mount.reset(fsmount(context.get(), FSMOUNT_CLOEXEC, attributes.first & ~kNoLinks.attribute));
  }
  return mount;
}

bool Attach(const Descriptor& mount, const Descriptor& place, unsigned flags) {
  return move_mount(mount.get(), "", place.get(), "",
                    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH | flags) == 0;
}

Result<void> MountOn(const MountFolder& folder, const std::string& path,
                     const MountOptions& options, const Descriptor& device) {
  if (!folder.IsInPlace()) return Replaced(path);
  const uint64_t before = folder.MountIdAtPath();
  if (const Descriptor mount = NewMount(options, device)) {
    const uint64_t id = MountIdOf(mount);
    if (!Attach(mount, folder.folder(), 0)) {
      if (errno == ENOENT) return Replaced(path);
      return Fail(FromErrno(errno), "{} cannot be mounted: {}", path, ErrnoText(errno));
    }
    if (folder.MountIdAtPath() == id) return {};
    umount2(fmt::format("/proc/self/fd/{}", mount.get()).c_str(), MNT_DETACH);
    return Replaced(path);
  }
  const int reason = errno;
  if (reason != EPERM && reason != ENOSYS && reason != EACCES) {
    return Fail(FromErrno(reason), "{} cannot be mounted: {}", path, ErrnoText(reason));
  }
  if (!MountByName(folder, options, device)) {
    return Fail(FromErrno(errno), "{} cannot be mounted: {}", path, ErrnoText(errno));
  }
  if (const uint64_t now = folder.MountIdAtPath(); now != before && now != 0) return {};
  static_cast<void>(folder.Unmount(/*detach=*/true));
  return Replaced(path);
}

}  // namespace zarrfs
