#include "tools/zarrctl/mount_status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = 16u << 20;
constexpr int kFormat = 1;  // the format of status.json that this program supports

// Explains an error in reading the mount's folder .zarrfs, and says what to do.
tl::unexpected<Error> Explained(const std::string& mount, int error) {
  std::error_code ignored;
  const std::string path = fs::absolute(mount, ignored).lexically_normal().string();
  const auto mounted = FindMountedPath(path);
  if (error == ENOTCONN || error == ECONNABORTED) {
    return Fail(
        ErrorCode::kIo,
        "{}: the mount is dead, its zarrfs was killed ({}); mount it again, or end it with: "
        "zarrfs --unmount {}",
        mount, ErrnoText(error), mount);
  }
  if (error == EACCES || error == EPERM) {
    return Fail(ErrorCode::kIo,
                "{}: {}; ask as the user who mounted it, or mount with -o allow_other", mount,
                ErrnoText(error));
  }
  const bool is_absent = error == ENOENT || error == ENOTDIR;
  if (is_absent && mounted && !mounted->relative.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: inside a zarrfs mount; name the folder that it is mounted on "
                "(findmnt -t fuse.zarrfs lists them)",
                mount);
  }
  if (is_absent && !mounted && fs::exists(mount, ignored)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: not a zarrfs mount (findmnt -t fuse.zarrfs lists the mounts)", mount);
  }
  return Fail(error == ENOENT ? ErrorCode::kInvalidArgument : ErrorCode::kIo, "{}: {}", mount,
              ErrnoText(error));
}

Result<std::string> ReadStatusFile(const std::string& mount) {
  const fs::path folder = fs::path(mount) / ".zarrfs";
  const Descriptor fd(open((folder / "status.json").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    if (error != ENOENT || access(folder.c_str(), F_OK) != 0) return Explained(mount, error);
    return Fail(ErrorCode::kIo,
                "{}: mounted by a zarrfs that is older than this zarrctl; unmount and mount it "
                "again",
                mount);
  }
  std::string text;
  std::array<char, 1 << 16> buffer;
  ssize_t got = 0;
  while (text.size() < kMaxBytes && (got = read(fd.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  if (got < 0) return Explained(mount, errno);
  return text;
}

}  // namespace

std::optional<MountedPath> FindMountedPath(const std::string& path) {
  std::vector<Mounted> mounts = MountsAlong(path, MountTable());
  if (mounts.empty() || mounts.back().type != kMountType) return std::nullopt;
  Mounted& mounted = mounts.back();
  // A bind mount may show only a part of the file system, which begins at `mounted.root`.
  std::string relative = mounted.root + path.substr(mounted.path == "/" ? 0 : mounted.path.size());
  relative.erase(0, relative.find_first_not_of('/'));
  return MountedPath{std::move(mounted.source), std::move(relative),
                     mounted.root == "/" ? std::move(mounted.path) : ""};
}

Result<Json> ReadMountStatus(const std::string& mount) {
  const auto text = ReadStatusFile(mount);
  if (!text) return Fail(text);
  auto status = ParseJson(*text, mount + "/.zarrfs/status.json");
  if (!status) return status;
  if (!status->is_object() || NumberIn(*status, "format") != kFormat) {
    return Fail(ErrorCode::kIo,
                "{}/.zarrfs/status.json: not in format {}, the one this zarrctl reads; use the "
                "zarrctl of the same version as the mount's zarrfs",
                mount, kFormat);
  }
  return status;
}

std::string TextIn(const Json& object, const char* name) {
  const Json& member = MemberOrNull(object, name);
  return member.is_string() ? member.get<std::string>() : "";
}

double NumberIn(const Json& object, const char* name) {
  const Json& member = MemberOrNull(object, name);
  return member.is_number() ? member.get<double>() : 0;
}

}  // namespace zarrfs::ctl
