// The sandbox of the worker and the caretaker, the processes that answer for a mount and read
// untrusted data. docs/SECURITY.md describes it completely.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fs/options/options.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {

struct WorkerSandbox {
  // A description such as "landlock 6, seccomp, uid 61211, no network", with the reason for each
  // missing part.
  std::string text;
  bool is_whole = false;  // true if the kernel and this program support Landlock and seccomp
};

/// Permanently confines this process, a child of `keeper` with one thread:
///
///   files         reading in the store, in the folder that contains the store, because another
///                 store may be renamed into its place, and in the folders of links=DIR; anywhere
///                 with links=follow. For a zip file, reading in the folder that contains it.
///                 Always in the folders of virtual=
///   system calls  only those on an allowlist
///   capabilities  none, or only the one to read any file if root mounts
///   user          one without an account, if root mounts a store on local disks for everybody
///   network       none, if root mounts a store on local disks
///   sockets       only the given ones
///
/// `source`: WorkerStart::source. `sockets`: the descriptor numbers of the given sockets; -1 is
/// ignored. `reads_store` is false for the caretaker.
[[nodiscard]] WorkerSandbox EnterWorkerSandbox(const MountOptions& options,
                                               const Descriptor& source, pid_t keeper,
                                               std::vector<int> sockets, bool reads_store = true);

/// A folder, and the mount that contains it.
struct MountedFolder {
  std::string path;  // absolute, without symbolic links
  uint64_t mount_id = 0;
  // The folder's type of file system, from statfs(2); used if the mount table lacks the mount.
  uint32_t type = 0;
};

/// Returns why the files below `folders` are not all on disks of this machine, such as "nfs4 at
/// /data"; "" if they are. A file server grants access by user, and the kernel may contact it as
/// the reading process's user or through that process's network. So a worker that reads from a file
/// server keeps its user and its network.
[[nodiscard]] std::string WhyNotLocal(const std::vector<MountedFolder>& folders,
                                      const std::vector<Mounted>& table);

}  // namespace zarrfs
