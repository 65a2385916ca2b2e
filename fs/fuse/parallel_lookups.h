// Lets the kernel look up several names of one folder at the same time.
//
// Before 3.17 libfuse takes FUSE_CAP_PARALLEL_DIROPS and does not pass it on. The kernel then asks
// for one name of a folder after the other, under a lock that cannot be interrupted: one that a
// dead server holds up makes all others in that folder hang, Ctrl-C or not.
#pragma once

#include <fuse_lowlevel.h>

namespace zarrfs {

/// For a session that is mounted, before its loop runs; at most one session a process. Without
/// effect where the library or the kernel has no need of it.
void AllowParallelLookups(fuse_session* session);

}  // namespace zarrfs
