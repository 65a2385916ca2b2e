// The settings of a mount. Settings after -o override those in the configuration file, such as:
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

/// True if a setting can change while the store is mounted.
[[nodiscard]] bool IsLive(std::string_view name);

/// Parses the contents of a configuration file into options in the syntax of -o, one per line; ""
/// for a line without a setting. Fails with kInvalidArgument for a malformed line and for a name
/// that occurs twice; the message begins with "`path`:LINE:" and has the expected value.
[[nodiscard]] Result<std::vector<std::string>> ParseConfig(std::string_view text,
                                                           std::string_view path);

/// Reads the configuration file, which is `options.config_file` or named in `options.settings`,
/// into `options.config`. Applies the settings of the file, then `options.settings`, and replaces
/// names of users and groups by numbers in both. Fails with kInvalidArgument and a message that
/// names the file, the line and the expected values.
[[nodiscard]] Result<void> ApplySettings(MountOptions& options);

/// Reads the file of virtual_file= into `options.virtual_text`, then calls ApplyVirtualText().
/// Returns the errors of ReadVirtualFile() and AddVirtualFile().
[[nodiscard]] Result<void> ReadVirtualText(MountOptions& options);

/// Appends the prefixes in `options.virtual_text` to those of virtual=. Returns the errors of
/// AddVirtualFile().
[[nodiscard]] Result<void> ApplyVirtualText(MountOptions& options);

/// Applies `options.config`, then `options.settings`, without reading a file.
[[nodiscard]] Result<void> ApplyWords(MountOptions& options);

/// Reads the configuration file again, and applies its settings and `options.settings` to default
/// options. In the result, only `config` and the members that settings can set are meaningful.
[[nodiscard]] Result<MountOptions> ReadAgain(const MountOptions& options);

/// Rereads the configuration file and updates `config` and the live settings in `options`, as if
/// `words` also followed -o. Returns the names of settings of the file that have changed but are
/// not live. Fails with kInvalidArgument if one of `words` is not live, and with the errors of
/// ApplySettings(). On failure nothing changes.
[[nodiscard]] Result<std::set<std::string>> SetLive(MountOptions& options, std::string_view words);

/// The live settings among those after -o, as one list.
[[nodiscard]] std::string LiveSettings(const MountOptions& options);

/// The names that occur in only one of two configuration files, or whose values differ; sorted.
[[nodiscard]] std::set<std::string> ChangedNames(const std::vector<std::string>& before,
                                                 const std::vector<std::string>& after);

/// The settings of the file and those after -o as one list, in the syntax of -o.
[[nodiscard]] std::string SettingsList(const MountOptions& options);

/// For a remount: returns the settings in `options` that would need a new mount, because they
/// differ from `in_force`, the settings of the existing mount as one list. `by_root` is true if
/// root made that mount. Kernel flags and live settings can change, so they are not included.
[[nodiscard]] std::vector<std::string> ChangedWords(const MountOptions& options,
                                                    std::string_view in_force, bool by_root);

}  // namespace zarrfs
