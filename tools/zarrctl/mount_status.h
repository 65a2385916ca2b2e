// Finds the zarrfs mount that contains a path, and reads the status that a mount reports in the
// file .zarrfs/status.json. The keys of this file are in docs/METRICS.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

struct MountedPath {
  std::string store;     // the store that is mounted
  std::string relative;  // relative to the root of the file system, without a leading slash
  // The folder where the root of the file system is mounted; "" if only a part is mounted.
  std::string point;
};

/// The mount that contains `path`, which must be absolute and without symbolic links; nullopt if
/// the path is not in a zarrfs mount.
[[nodiscard]] std::optional<MountedPath> FindMountedPath(const std::string& path);

/// Returns the JSON object in MNT/.zarrfs/status.json. An error says what is wrong with the mount,
/// and what to do.
[[nodiscard]] Result<Json> ReadMountStatus(const std::string& mount);

/// Returns the member `name` of a JSON object; "" or 0 if it is absent or has another type.
[[nodiscard]] std::string TextIn(const Json& object, const char* name);
[[nodiscard]] double NumberIn(const Json& object, const char* name);

}  // namespace zarrfs::ctl
