// The capabilities of the processes of a mount by root. Processes that a user started have none,
// and these calls change nothing. The process must have one thread.
#pragma once

#include <string>

namespace zarrfs {

/// Keeps what mounting and unmounting need: CAP_SYS_ADMIN, and CAP_DAC_READ_SEARCH for the path to
/// the mount point. Does not restrict programs that the process starts (fusermount3).
void KeepMountPrivileges();

/// Keeps CAP_DAC_READ_SEARCH, to read any store. The process and the programs that it starts can
/// never gain another capability.
void KeepReadPrivileges();

/// "cap_dac_read_search", "cap_sys_admin,cap_chown", "none": those of this thread.
[[nodiscard]] std::string CapabilitiesInForce();

}  // namespace zarrfs
