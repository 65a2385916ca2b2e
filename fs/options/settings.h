// The settings of a mount: those of its configuration file, overridden by those after -o. The file:
//
//   # A line that begins with # is a comment.
//   source = /data/ocean.zarr
//   cache = 1G
//   immutable
//
// Names and values are those of options after -o, without escapes; surrounding blanks are ignored.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// Whether a setting can change while the store is mounted.
[[nodiscard]] bool IsLive(std::string_view name);

/// The settings in the text of a configuration file, as options after -o, one per line; "" for a
/// line without a setting. kInvalidArgument for a malformed line and for a name that occurs twice,
/// with the message "`path`:LINE: what was expected".
[[nodiscard]] Result<std::vector<std::string>> ParseConfig(std::string_view text,
                                                           std::string_view path);

/// Reads `options.config_file`, or the file that `options.settings` name, into `options.config`,
/// and applies both. Names of users and groups become numbers in either. kInvalidArgument names the
/// file, the line and the expected values.
[[nodiscard]] Result<void> ApplySettings(MountOptions& options);

/// Applies `options.config` and `options.settings` without reading a file.
[[nodiscard]] Result<void> ApplyWords(MountOptions& options);

/// The same settings, with the configuration file read again. Only members set by settings, and
/// `config`, are meaningful in the result.
[[nodiscard]] Result<MountOptions> ReadAgain(const MountOptions& options);

/// Rereads the configuration file and updates `config` and the live settings in `options`, as if
/// `words` followed -o, too. Returns the names of changed settings of the file that are not live.
/// On failure nothing changes: kInvalidArgument also if one of the words is not live.
[[nodiscard]] Result<std::set<std::string>> SetLive(MountOptions& options, std::string_view words);

/// The live settings among those after -o, as one list.
[[nodiscard]] std::string LiveSettings(const MountOptions& options);

/// Names that only one of two configuration files has, or whose values differ; sorted.
[[nodiscard]] std::set<std::string> ChangedNames(const std::vector<std::string>& before,
                                                 const std::vector<std::string>& after);

/// The settings of both as one list, as after -o.
[[nodiscard]] std::string SettingsList(const MountOptions& options);

/// For a remount: the settings of `options` that need a new mount, because they differ from those
/// of the existing mount, which was made with the list `in_force`, by root or not. Kernel flags and
/// live settings can change and are not included.
[[nodiscard]] std::vector<std::string> ChangedWords(const MountOptions& options,
                                                    std::string_view in_force, bool by_root);

}  // namespace zarrfs
