// What the processes that answer for a mount, worker and caretaker, may still do: they read what
// anybody may have written. docs/SECURITY.md has the whole picture.
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
  std::string text;       // "landlock 6, seccomp, uid 61211, no network", with reasons for gaps
  bool is_whole = false;  // the kernel, and this program, have Landlock and seccomp
};

/// Confines this process, a child of `keeper` with one thread, for good:
///
///   files         reading in the store, in the folder that holds it (another store may be renamed
///                 into its place) and in the folders of links=DIR; anywhere with links=follow. Of
///                 a zip file, in the folder that holds it
///   system calls  a list
///   capabilities  none but the one to read any file, if root mounts
///   user          one without an account, if root mounts a store on local disks for everybody
///   network       none, if root mounts a store on local disks
///   sockets       those that it has
///
/// `source`: WorkerStart::source. `sockets`: their numbers; -1 is none. The caretaker reads no
/// store.
[[nodiscard]] WorkerSandbox EnterWorkerSandbox(const MountOptions& options,
                                               const Descriptor& source, pid_t keeper,
                                               std::vector<int> sockets, bool reads_store = true);

/// A folder, and the mount that it lies in.
struct MountedFolder {
  std::string path;  // absolute, without symbolic links
  uint64_t mount_id = 0;
  uint32_t type = 0;  // of its file system, as statfs(2) has it: decides if the mount has no line
};

/// Why what lies below `folders` is not just on disks of this machine: "nfs4 at /data". A server
/// decides by user who may read, and may be asked in the name, or over the network, of the reader.
/// "" if it is.
[[nodiscard]] std::string WhyNotLocal(const std::vector<MountedFolder>& folders,
                                      const std::vector<Mounted>& table);

}  // namespace zarrfs
