// zarrfs mounts: which one a path lies in, and what it reports about itself in the file
// .zarrfs/status.json (docs/METRICS.md lists its keys).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

struct MountedPath {
  std::string store;     // what is mounted
  std::string relative;  // from the root of the file system, without a leading slash
  std::string point;  // the folder where the root of the file system is; "" if only a part is seen
};

/// nullopt unless `path` (absolute, without symbolic links) lies in a zarrfs mount.
[[nodiscard]] std::optional<MountedPath> FindMountedPath(const std::string& path);

/// The object in MNT/.zarrfs/status.json. The error says what is wrong with the mount and what to
/// do.
[[nodiscard]] Result<Json> ReadMountStatus(const std::string& mount);

/// A member of an object: "" or 0 where there is none or it is something else.
[[nodiscard]] std::string TextIn(const Json& object, const char* name);
[[nodiscard]] double NumberIn(const Json& object, const char* name);

}  // namespace zarrfs::ctl
