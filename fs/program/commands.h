// The commands of `zarrfs` besides mounting. Each returns the exit code.
#pragma once

#include <string>

#include "fs/options/options.h"

namespace zarrfs {

/// `--list`: prints one line per mount, with the process that handles its signals.
int ListMounts();

/// `--unmount MNT`: unmounts a zarrfs mount (and no other kind); a dead one lazily.
int UnmountCommand(const std::string& mountpoint);

/// `--check`: whether the store could be mounted there with `options`, or the settings of the mount
/// there be reloaded; lists the settings that would need a new mount. Changes nothing.
int CheckCommand(MountOptions options);

/// `--upgrade MNT`: makes this program serve a mount from now on (fs/process/upgrade.h); `verbose`:
/// prints what was done.
int UpgradeCommand(const std::string& mountpoint, bool verbose);

/// `--upgrade --all`: upgrades all mounts except dead ones and, unless run by root, those of other
/// users. Fails if one upgrade fails.
int UpgradeAllCommand(bool verbose);

/// `-o remount`: applies the options that can change while mounted (noexec, noatime, those in the
/// configuration file) and refuses others by name.
int RemountCommand(const MountOptions& options);

}  // namespace zarrfs
