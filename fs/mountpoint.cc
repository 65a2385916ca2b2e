#include "fs/mountpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <vector>

namespace zarrfs {
namespace {

// mountinfo writes blanks, line ends and backslashes as "\" and three octal digits.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 3, code, 8).ptr == &text[i + 1] + 3) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string_view> SplitAtBlanks(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const size_t end = line.find(' ');
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return fields;
}

Result<void> CheckSource(const MountOptions& options) {
  const std::string& source = options.source;
  if (source.find("://") != std::string::npos) {
    return Fail(ErrorCode::kUnsupported, "{}: only a local folder can be mounted", source);
  }
  struct stat info = {};
  if (stat(source.c_str(), &info) != 0) {
    if (errno == ENOENT) return Fail(ErrorCode::kNotFound, "{} does not exist", source);
    return Fail(FromErrno(errno), "{} cannot be read: {}", source, ErrnoText(errno));
  }
  if (!S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kNotADirectory, "{} is not a folder, so it is no Zarr store", source);
  }
  return {};
}

Result<void> CheckNotMounted(const std::string& path) {
  const auto mounted = FindMount(path);
  if (!mounted || mounted->type != "fuse.zarrfs") return {};
  return Fail(ErrorCode::kInvalidArgument,
              "{} is already mounted (a zarrfs mount of {}): unmount it first with {} {}", path,
              mounted->source, geteuid() == 0 ? "umount" : "fusermount3 -u", path);
}

Result<std::string> RealPath(const std::string& path, const std::string& mountpoint) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real != nullptr) return std::string(real.get());
  if (errno == ENOENT) {
    return Fail(ErrorCode::kNotFound, "mount point {} does not exist: create it with mkdir",
                mountpoint);
  }
  if (errno == ENOTCONN) {
    return Fail(ErrorCode::kIo, "mount point {} lies on a dead mount: unmount that first",
                mountpoint);
  }
  return Fail(FromErrno(errno), "mount point {} cannot be used: {}", mountpoint, ErrnoText(errno));
}

// Looks for a mount on each name that the path goes by before that name is resolved, because the
// file system that would be asked may never answer.
Result<std::string> ResolveMountPoint(const std::string& mountpoint) {
  const std::string absolute = AbsolutePath(mountpoint);
  if (const auto free = CheckNotMounted(absolute); !free) return Fail(free);
  const size_t slash = absolute.rfind('/');
  const std::string name = absolute.substr(slash + 1);
  auto parent = RealPath(slash == 0 ? "/" : absolute.substr(0, slash), mountpoint);
  if (!parent) return parent;
  std::string path = *parent == "/" ? "/" + name : *parent + "/" + name;
  if (const auto free = CheckNotMounted(path); !free) return Fail(free);
  auto real = RealPath(path, mountpoint);
  if (!real) return real;
  if (const auto free = CheckNotMounted(*real); !free) return Fail(free);
  return real;
}

Result<void> CheckFolder(const std::string& path, bool nonempty) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    return Fail(FromErrno(errno), "mount point {} cannot be used: {}", path, ErrnoText(errno));
  }
  if (!S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kNotADirectory, "mount point {} is not a directory", path);
  }
  if (nonempty) return {};
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), &closedir);
  // A folder that may not be listed may still be mounted on.
  if (folder == nullptr) return {};
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      return Fail(ErrorCode::kInvalidArgument,
                  "mount point {} is not empty: choose another, or mount over it with -o nonempty",
                  path);
    }
  }
  return {};
}

Result<void> CheckDevice() {
  if (access("/dev/fuse", F_OK) != 0) {
    return Fail(ErrorCode::kNotFound,
                "/dev/fuse is missing: load the fuse module (modprobe fuse) or pass the device "
                "into the container");
  }
  // fusermount3 opens it with the rights of who calls it, too.
  const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    close(fd);
    return {};
  }
  if (errno == ENODEV || errno == ENXIO) {
    return Fail(ErrorCode::kNotFound,
                "/dev/fuse leads nowhere: load the fuse module (modprobe fuse)");
  }
  return Fail(FromErrno(errno), "/dev/fuse cannot be opened ({}): {}", ErrnoText(errno),
              geteuid() == 0 ? "pass the device into the container"
                             : "its mode has to be 0666, or mount as root");
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
    const size_t begin = line.find_first_not_of(" \t");
    const size_t end = line.find_last_not_of(" \t\r");
    if (begin != std::string::npos && line.substr(begin, end - begin + 1) == "user_allow_other") {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  std::string full = path;
  if (!path.starts_with('/')) {
    std::array<char, PATH_MAX> folder;
    if (getcwd(folder.data(), folder.size()) != nullptr) full = folder.data() + ("/" + path);
  }
  std::string absolute;
  std::istringstream parts(full);
  for (std::string part; std::getline(parts, part, '/');) {
    if (!part.empty() && part != ".") absolute += "/" + part;
  }
  return absolute.empty() ? "/" : absolute;
}

std::optional<Mounted> FindMount(std::string_view mountinfo, std::string_view path) {
  std::optional<Mounted> topmost;
  while (!mountinfo.empty()) {
    const size_t end = mountinfo.find('\n');
    const auto fields = SplitAtBlanks(mountinfo.substr(0, end));
    mountinfo.remove_prefix(end == std::string_view::npos ? mountinfo.size() : end + 1);
    // id, parent, major:minor, root, mount point, options, tags…, "-", type, source, options
    if (fields.size() < 9 || Unescape(fields[4]) != path) continue;
    size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 2 >= fields.size()) continue;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    const std::string_view device = fields[2];
    const auto [colon, error] =
        std::from_chars(device.data(), device.data() + device.size(), major_number);
    if (error != std::errc() || colon == device.data() + device.size()) continue;
    std::from_chars(colon + 1, device.data() + device.size(), minor_number);
    topmost = Mounted{makedev(major_number, minor_number), Unescape(fields[dash + 1]),
                      Unescape(fields[dash + 2])};
  }
  return topmost;
}

std::optional<Mounted> FindMount(const std::string& path) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return FindMount(text, path);
}

Result<std::string> CheckMount(const MountOptions& options) {
  // The mount point first: SRC may lie below it, and then a mount that hangs there hangs SRC too.
  auto mountpoint = ResolveMountPoint(options.mountpoint);
  if (!mountpoint) return mountpoint;
  if (const auto source = CheckSource(options); !source) return Fail(source);
  if (const auto folder = CheckFolder(*mountpoint, options.nonempty); !folder) return Fail(folder);
  if (const auto device = CheckDevice(); !device) return Fail(device);
  if (geteuid() != 0) {
    if (!IsOnPath("fusermount3")) {
      return Fail(ErrorCode::kNotFound, "fusermount3 is missing: install the package fuse3");
    }
    if (options.allow_other && !UsersMayAllowOthers()) {
      return Fail(ErrorCode::kPermissionDenied,
                  "allow_other: add user_allow_other to /etc/fuse.conf or mount as root");
    }
  }
  return mountpoint;
}

}  // namespace zarrfs
