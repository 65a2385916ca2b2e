// The settings of a mount: those of its configuration file, overridden by those after -o.
#ifndef FS_DAEMON_SETTINGS_H_
#define FS_DAEMON_SETTINGS_H_

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fs/daemon/options.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// The settings that can change while the store is mounted, if the configuration file has them.
inline constexpr std::array<std::string_view, 3> kLiveNames = {"log_level", "index_cache", "cache"};

/// Reads `options.config_file`, also one that `options.settings` name, into `options.config`, and
/// applies both. kInvalidArgument names the file, the line and what was expected.
[[nodiscard]] Result<void> ApplySettings(MountOptions& options);

/// The same settings, with the configuration file read again. Only what settings decide, and
/// `config`, has a meaning in the result.
[[nodiscard]] Result<MountOptions> ReadAgain(const MountOptions& options);

/// The settings of both as one list, as after -o.
[[nodiscard]] std::string SettingsList(const MountOptions& options);

/// For a remount: the settings of `options` that need a new mount, because they differ from those
/// of the existing mount. That was made with the list `in_force`, by root or not. Kernel flags and
/// kLiveNames of the configuration file can change and are not among them.
[[nodiscard]] std::vector<std::string> ChangedWords(const MountOptions& options,
                                                    std::string_view in_force, bool by_root);

}  // namespace zarrfs

#endif  // FS_DAEMON_SETTINGS_H_
