// Which store a path inside a zarrfs mount belongs to.
#ifndef TOOLS_ZARRCTL_MOUNTED_PATH_H_
#define TOOLS_ZARRCTL_MOUNTED_PATH_H_

#include <optional>
#include <string>

namespace zarrfs::ctl {

struct MountedPath {
  std::string store;     // what is mounted
  std::string relative;  // from the root of the file system, without a leading slash
  std::string point;  // the folder where the root of the file system is; "" if only a part is seen
};

/// nullopt unless `path` (absolute, without symbolic links) lies in a zarrfs mount.
[[nodiscard]] std::optional<MountedPath> FindMountedPath(const std::string& path);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_MOUNTED_PATH_H_
