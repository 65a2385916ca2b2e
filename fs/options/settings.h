// The settings of a mount: those of its configuration file, overridden by those after -o. The file:
//
//   # A line that begins with # is a comment.
//   source = /data/ocean.zarr
//   cache = 1G
//   immutable
//
// Names and values are those of options after -o, without escapes; blanks around them are ignored.
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

/// The settings in the text of a configuration file, as options after -o, one for each line: ""
/// where there is none. kInvalidArgument for a line of another kind and for a name that occurs
/// twice, with the message "`path`:LINE: what was expected".
[[nodiscard]] Result<std::vector<std::string>> ParseConfig(std::string_view text,
                                                           std::string_view path);

/// Reads `options.config_file`, also one that `options.settings` name, into `options.config`, and
/// applies both. Names of users and groups become numbers in either. kInvalidArgument names the
/// file, the line and what was expected.
[[nodiscard]] Result<void> ApplySettings(MountOptions& options);

/// Applies `options.config` and `options.settings` as they are, without reading a file.
[[nodiscard]] Result<void> ApplyWords(MountOptions& options);

/// The same settings, with the configuration file read again. Only what settings decide, and
/// `config`, has a meaning in the result.
[[nodiscard]] Result<MountOptions> ReadAgain(const MountOptions& options);

/// Reads the configuration file again and changes in `options` what can change while the store is
/// mounted, and `config`, as if `words` were given after -o, too. Returns the names of settings of
/// the file that have changed and cannot. Nothing changes on failure: kInvalidArgument for one of
/// the words that cannot change, too.
[[nodiscard]] Result<std::set<std::string>> SetLive(MountOptions& options, std::string_view words);

/// Of the settings after -o, those that can change while the store is mounted, as one list.
[[nodiscard]] std::string LiveSettings(const MountOptions& options);

/// Names that only one of two configuration files has, or that have different values; sorted.
[[nodiscard]] std::set<std::string> ChangedNames(const std::vector<std::string>& before,
                                                 const std::vector<std::string>& after);

/// The settings of both as one list, as after -o.
[[nodiscard]] std::string SettingsList(const MountOptions& options);

/// For a remount: the settings of `options` that need a new mount, because they differ from those
/// of the existing mount. That was made with the list `in_force`, by root or not. Kernel flags and
/// live settings can change and are not among them.
[[nodiscard]] std::vector<std::string> ChangedWords(const MountOptions& options,
                                                    std::string_view in_force, bool by_root);

}  // namespace zarrfs
