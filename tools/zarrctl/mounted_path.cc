#include "tools/zarrctl/mounted_path.h"

#include <utility>
#include <vector>

#include "zarrcore/base/mount_table.h"

namespace zarrfs::ctl {

std::optional<MountedPath> FindMountedPath(const std::string& path) {
  std::vector<Mounted> mounts = MountsAlong(path, MountTable());
  if (mounts.empty() || mounts.back().type != kMountType) return std::nullopt;
  Mounted& mounted = mounts.back();
  // A bind mount may show a part of it.
  std::string relative = mounted.root + path.substr(mounted.path == "/" ? 0 : mounted.path.size());
  relative.erase(0, relative.find_first_not_of('/'));
  return MountedPath{std::move(mounted.source), std::move(relative),
                     mounted.root == "/" ? std::move(mounted.path) : ""};
}

}  // namespace zarrfs::ctl
