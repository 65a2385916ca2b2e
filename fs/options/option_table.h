// The options after -o, one row each: name, help text, and what a value changes in MountOptions.
// The command line, configuration files, --help and with it the manual pages follow from the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// Applies one option, "name" or "name=value". Options of mount(8) and fstab(5) that change nothing
/// here are accepted. `unknown` becomes the first option that is not in the table.
/// kInvalidArgument names the option and what was expected instead of its value.
[[nodiscard]] Result<void> ApplyOption(std::string_view option, MountOptions& options,
                                       std::optional<std::string>& unknown);

/// Whether a remount can change this option in the kernel ("noexec", "atime").
[[nodiscard]] bool IsKernelFlag(std::string_view option);

/// One line of --help per option, with continuation lines, below the headings of docs/OPTIONS.md.
[[nodiscard]] std::string OptionsHelp();

/// The error for an option that does not exist: why one of other file systems is refused, or which
/// one may be meant.
[[nodiscard]] tl::unexpected<Error> UnknownOption(std::string_view option);

}  // namespace zarrfs
