// The sandbox of the worker and the caretaker, the processes that answer for a mount and read data
// that anybody may have written. docs/SECURITY.md describes it completely.
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
  std::string text;  // such as "landlock 6, seccomp, uid 61211, no network", with reasons for gaps
  bool is_whole = false;  // whether both the kernel and this program support Landlock and seccomp
};

/// Permanently confines this process, a child of `keeper` with one thread:
///
///   files         reading in the store, in the folder that contains the store (another store may
///   be
///                 renamed into its place) and in the folders of links=DIR; anywhere with
///                 links=follow. For a zip file, reading in the folder that contains it. Always in
///                 the folders of virtual=
///   system calls  those of a list
///   capabilities  none except the one to read any file, if root mounts
///   user          one without an account, if root mounts a store on local disks for everybody
///   network       none, if root mounts a store on local disks
///   sockets       only the given ones
///
/// `source`: WorkerStart::source. `sockets`: their descriptor numbers; -1 is ignored. `reads_store`
/// is false for the caretaker.
[[nodiscard]] WorkerSandbox EnterWorkerSandbox(const MountOptions& options,
                                               const Descriptor& source, pid_t keeper,
                                               std::vector<int> sockets, bool reads_store = true);

/// A folder, and the mount that contains it.
struct MountedFolder {
  std::string path;  // absolute, without symbolic links
  uint64_t mount_id = 0;
  // The type of its file system, from statfs(2); used if the mount table lacks the mount.
  uint32_t type = 0;
};

/// Why the files below `folders` are not all on disks of this machine: "nfs4 at /data"; "" if they
/// are. A file server decides by the user who may read, and may be contacted on behalf of the
/// reader, or through the reader's network.
[[nodiscard]] std::string WhyNotLocal(const std::vector<MountedFolder>& folders,
                                      const std::vector<Mounted>& table);

}  // namespace zarrfs
