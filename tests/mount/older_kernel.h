// Programs run as if the kernel knew less.
#pragma once

namespace zarrfs {

inline constexpr const char* kWithoutBeneath = "--without-move-mount-beneath";
inline constexpr const char* kWithoutFsopen = "--without-fsopen";

/// This program, started again as `MODE PROGRAM ARGUMENT…`: becomes that program, for which
/// move_mount(2) does not know MOVE_MOUNT_BENEATH (Linux before 6.5), or fsopen(2) is forbidden
/// (a container that mounts through fusermount3 alone). Returns only if that fails.
int RunOnOlderKernel(int argc, char** argv);

}  // namespace zarrfs
