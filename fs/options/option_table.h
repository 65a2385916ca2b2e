// The table of the options after -o. Each row has the name of an option, its help text, and its
// effect on MountOptions. The command line, configuration files, --help and the manual pages use
// this table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// Applies one option, "name" or "name=value". Accepts options of mount(8) and fstab(5) that have
/// no effect here. The first option that is not in the table is stored in `unknown`. Fails with
/// kInvalidArgument and a message that names the option and the expected values.
[[nodiscard]] Result<void> ApplyOption(std::string_view option, MountOptions& options,
                                       std::optional<std::string>& unknown);

/// True if a remount can change this option in the kernel, such as "noexec" or "atime".
[[nodiscard]] bool IsKernelFlag(std::string_view option);

/// The part of --help with one line per option, and continuation lines, below the headings of
/// docs/OPTIONS.md.
[[nodiscard]] std::string OptionsHelp();

/// The error for an unknown option. It says why an option of other file systems is refused, or
/// which option was probably meant.
[[nodiscard]] tl::unexpected<Error> UnknownOption(std::string_view option);

}  // namespace zarrfs
