// The commands of `zarrfs` other than mounting. Each function returns the exit code.
#pragma once

#include <string>

#include "fs/options/options.h"

namespace zarrfs {

/// `--list`: prints one line per mount, with the process that handles the mount's signals.
int ListMounts();

/// `--unmount MNT`: unmounts a zarrfs mount, but no other kind of mount. Detaches a dead mount.
int UnmountCommand(const std::string& mountpoint);

/// `--check`: checks whether the store could be mounted with `options`. If the store is already
/// mounted there, checks whether the settings of that mount could be reloaded, and prints the
/// settings that would need a new mount. Changes nothing.
int CheckCommand(MountOptions options);

/// `--upgrade MNT`: makes this program serve an existing mount (fs/process/upgrade.h). `verbose`:
/// prints the old and new versions.
int UpgradeCommand(const std::string& mountpoint, bool verbose);

/// `--upgrade --all`: upgrades all mounts, except dead mounts and, unless root runs the command,
/// the mounts of other users. Fails if any upgrade fails.
int UpgradeAllCommand(bool verbose);

/// `-o remount`: applies the options that can change while the store is mounted (noexec, noatime,
/// and live settings) and refuses others by name.
int RemountCommand(const MountOptions& options);

}  // namespace zarrfs
