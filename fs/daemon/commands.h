// What `zarrfs` does besides mounting. Each returns the exit code of the program.
#ifndef FS_DAEMON_COMMANDS_H_
#define FS_DAEMON_COMMANDS_H_

#include <string>

#include "fs/daemon/options.h"

namespace zarrfs {

/// `--list`: a line a mount on stdout, with the process that takes signals for it.
int ListMounts();

/// `--unmount MNT`: ends a mount of zarrfs and no other; a dead one lazily.
int UnmountCommand(const std::string& mountpoint);

/// `-o remount`: applies what can change while a mount is up (noexec, noatime, what its
/// configuration file says anew) and refuses, with the word, what cannot.
int RemountCommand(const MountOptions& options);

}  // namespace zarrfs

#endif  // FS_DAEMON_COMMANDS_H_
