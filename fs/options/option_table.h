// The options after -o, one row each: name, help text, and effect on MountOptions. The command
// line, configuration files, --help and the manual pages are generated from the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// Applies one option, "name" or "name=value". Accepts options of mount(8) and fstab(5) that have
/// no effect here. `unknown` is set to the first option that is not in the table. kInvalidArgument
/// names the option and the expected values.
[[nodiscard]] Result<void> ApplyOption(std::string_view option, MountOptions& options,
                                       std::optional<std::string>& unknown);

/// Whether a remount can change this option in the kernel ("noexec", "atime").
[[nodiscard]] bool IsKernelFlag(std::string_view option);

/// One line of --help per option, with continuation lines, below the headings of docs/OPTIONS.md.
[[nodiscard]] std::string OptionsHelp();

/// The error for an unknown option: why one of other file systems is refused, or which option may
/// be meant.
[[nodiscard]] tl::unexpected<Error> UnknownOption(std::string_view option);

}  // namespace zarrfs
