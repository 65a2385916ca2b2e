#include "tools/zarrctl/mount_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/zarrctl/mounted_path.h"
#include "zarrcore/base/descriptor.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = 16u << 20;

tl::unexpected<Error> Explained(const std::string& mount, int error) {
  std::error_code ignored;
  const std::string path = fs::absolute(mount, ignored).lexically_normal().string();
  const auto mounted = FindMountedPath(path);
  switch (error) {
    case ENOTCONN:
    case ECONNABORTED:
      return Fail(
          ErrorCode::kIo,
          "{}: the mount is dead, its zarrfs was killed ({}); mount it again, or end it with: "
          "zarrfs --unmount {}",
          mount, std::strerror(error), mount);
    case EACCES:
    case EPERM:
      return Fail(ErrorCode::kIo,
                  "{}: {}; ask as the user who mounted it, or mount with -o allow_other", mount,
                  std::strerror(error));
    case ENOENT:
    case ENOTDIR:
      if (mounted && !mounted->relative.empty()) {
        return Fail(ErrorCode::kInvalidArgument,
                    "{}: lies inside a zarrfs mount; name the folder that it is mounted on "
                    "(findmnt -t fuse.zarrfs lists them)",
                    mount);
      }
      if (!mounted && fs::exists(mount, ignored)) {
        return Fail(ErrorCode::kInvalidArgument,
                    "{}: no zarrfs mount (findmnt -t fuse.zarrfs lists those there are)", mount);
      }
      [[fallthrough]];
    default:
      return Fail(error == ENOENT ? ErrorCode::kInvalidArgument : ErrorCode::kIo, "{}: {}", mount,
                  std::strerror(error));
  }
}

}  // namespace

Result<std::optional<std::string>> ReadMountFile(const std::string& mount, std::string_view name) {
  const std::string folder = (fs::path(mount) / ".zarrfs").string();
  const Descriptor fd(open((fs::path(folder) / name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    if (error == ENOENT && access(folder.c_str(), F_OK) == 0) return std::nullopt;
    return Explained(mount, error);
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

Result<std::map<std::string, std::string>> ReadMountOptions(const std::string& mount) {
  const auto text = ReadMountFile(mount, "options");
  if (!text) return Fail(text);
  if (!*text) {
    return Fail(ErrorCode::kInvalidArgument, "{}: no zarrfs mount: it has no .zarrfs/options",
                mount);
  }
  std::map<std::string, std::string> options;
  for (std::string_view rest = **text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (const size_t colon = line.find(": "); colon != std::string_view::npos) {
      options.emplace(line.substr(0, colon), line.substr(colon + 2));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return options;
}

}  // namespace zarrfs::ctl
