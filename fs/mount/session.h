// Sets up libfuse for a mount.
#pragma once

#include <fuse_lowlevel.h>

#include <string>
#include <string_view>

#include "fs/options/options.h"

namespace zarrfs {

/// The argument of libfuse's -o: the options that every mount has (read-only, no devices, no
/// set-uid bits, permissions checked by the kernel), and those added by `options`.
[[nodiscard]] std::string LibfuseOptions(const MountOptions& options);

/// Returns why requests do not use io_uring; "" if they do. With io_uring, no other worker can take
/// over after a worker has ended.
[[nodiscard]] std::string WhyNoIoUring(const MountOptions& options);

/// The answer to FUSE_INIT that a worker with these options gives; see AnswerTo().
[[nodiscard]] std::string AnswerOf(const MountOptions& options, std::string_view init);

/// Makes a session with LibfuseOptions() that is not yet mounted. Null if memory has run out.
[[nodiscard]] fuse_session* NewSession(const MountOptions& options,
                                       const fuse_lowlevel_ops& operations, void* user_data);

}  // namespace zarrfs
