// Runs programs as if the kernel were older.
#pragma once

namespace zarrfs {

inline constexpr const char* kWithoutBeneath = "--without-move-mount-beneath";
inline constexpr const char* kWithoutFsopen = "--without-fsopen";

/// The main function for the arguments `MODE PROGRAM ARGUMENT…`. Executes PROGRAM such that
/// move_mount(2) does not support MOVE_MOUNT_BENEATH (Linux before 6.5), or fsopen(2) is forbidden
/// (a container that can mount only through fusermount3). Returns only on failure.
int RunOnOlderKernel(int argc, char** argv);

}  // namespace zarrfs
