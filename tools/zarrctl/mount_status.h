// What a zarrfs mount reports about itself: the file .zarrfs/status.json (docs/METRICS.md lists its
// keys).
#ifndef TOOLS_ZARRCTL_MOUNT_STATUS_H_
#define TOOLS_ZARRCTL_MOUNT_STATUS_H_

#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

/// The object in MNT/.zarrfs/status.json. The error says what is wrong with the mount and what to
/// do.
[[nodiscard]] Result<Json> ReadMountStatus(const std::string& mount);

/// A member of an object: "" or 0 where there is none or it is something else.
[[nodiscard]] std::string TextIn(const Json& object, const char* name);
[[nodiscard]] double NumberIn(const Json& object, const char* name);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_MOUNT_STATUS_H_
