// The capabilities of the processes of a mount by root. Processes that a user started have none,
// and these calls change nothing. The process must have one thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace zarrfs {

/// Keeps what mounting and unmounting need: CAP_SYS_ADMIN, and CAP_DAC_READ_SEARCH for the path to
/// the mount point. And what a next worker needs to be another user, CAP_SETUID and CAP_SETGID, and
/// to be ended, CAP_KILL. For root, the programs that the process starts get no more (the next
/// program of an upgrade, which gets all of it). Users' fusermount3 is not restricted.
void KeepMountPrivileges();

/// Keeps CAP_DAC_READ_SEARCH, to read any store. The process and the programs that it starts can
/// never gain another capability. Becomes `user`, in the group of that number and no other, if
/// there is one; returns why it could not, and is the same user as before then.
std::string KeepReadPrivileges(std::optional<uid_t> user);

/// Keeps no capability, nor a way to gain one; stays the same user.
void KeepNoPrivileges();

/// A user without an account, for a process of the mount of `keeper`; the worker's is another one
/// than the fetcher's.
[[nodiscard]] uid_t UserWithoutAccount(pid_t keeper, bool is_fetcher);

/// "cap_dac_read_search", "cap_sys_admin,cap_chown", "none": those of this thread.
[[nodiscard]] std::string CapabilitiesInForce();

}  // namespace zarrfs
