// What the processes of a mount that root made may do besides reading their own files. Started by a
// user they have no capabilities, and these calls change nothing. Each is for a process with one
// thread.
#ifndef FS_DAEMON_PRIVILEGES_H_
#define FS_DAEMON_PRIVILEGES_H_

#include <string>

namespace zarrfs {

/// What mounting and unmounting need: CAP_SYS_ADMIN, and CAP_DAC_READ_SEARCH for the way to the
/// mount point. Programs that are started (fusermount3) are not concerned.
void KeepMountPrivileges();

/// CAP_DAC_READ_SEARCH, to read any store, and nothing else for ever, whatever is started.
void KeepReadPrivileges();

/// "cap_dac_read_search", "cap_sys_admin,cap_chown", "none": what is in force for this thread.
[[nodiscard]] std::string CapabilitiesInForce();

}  // namespace zarrfs

#endif  // FS_DAEMON_PRIVILEGES_H_
