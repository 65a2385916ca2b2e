// What a zarrfs mount says of itself: the files in its folder .zarrfs.
#ifndef TOOLS_ZARRCTL_MOUNT_FILES_H_
#define TOOLS_ZARRCTL_MOUNT_FILES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"

namespace zarrfs::ctl {

/// The text of MNT/.zarrfs/NAME; nullopt if this zarrfs has no such file. The error says what is
/// wrong with the mount and what to do.
[[nodiscard]] Result<std::optional<std::string>> ReadMountFile(const std::string& mount,
                                                               std::string_view name);

/// MNT/.zarrfs/options: "name: value" lines.
[[nodiscard]] Result<std::map<std::string, std::string>> ReadMountOptions(const std::string& mount);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_MOUNT_FILES_H_
