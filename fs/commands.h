// What `zarrfs` does besides mounting. Each returns the exit code of the program.
#ifndef FS_COMMANDS_H_
#define FS_COMMANDS_H_

#include <string>

namespace zarrfs {

/// `--list`: a line a mount on stdout, with the process that takes signals for it.
int ListMounts();

/// `--unmount MNT`: ends a mount of zarrfs and no other; a dead one lazily.
int UnmountCommand(const std::string& mountpoint);

}  // namespace zarrfs

#endif  // FS_COMMANDS_H_
