// The capabilities of the processes of a mount by root. Processes that another user started have
// no capabilities to drop. The process must have one thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace zarrfs {

/// Keeps the capabilities that a keeper needs, and drops all others. Mounting and unmounting need
/// CAP_SYS_ADMIN, and CAP_DAC_READ_SEARCH for the path to the mount point. The next worker needs
/// CAP_SETUID and CAP_SETGID to change its user, and the keeper needs CAP_KILL to kill that worker.
/// If root mounts, programs that the keeper starts cannot gain other capabilities. For other users,
/// fusermount3 can.
void KeepMountPrivileges();

/// Keeps only CAP_DAC_READ_SEARCH, to read any store. The process and the programs that it starts
/// can never gain another capability. If `user` is set, the process becomes that user, in the group
/// with the same number and in no other group. Returns why it could not become `user`, in which
/// case the user stays the same; "" otherwise.
std::string KeepReadPrivileges(std::optional<uid_t> user);

/// Drops all capabilities and every way to gain one. The user stays the same.
void KeepNoPrivileges();

/// Returns the id of a user without an account, for the worker or the fetcher of the mount that
/// `keeper` owns. The two get different users.
[[nodiscard]] uid_t UserWithoutAccount(pid_t keeper, bool is_fetcher);

/// The effective capabilities of this thread: "cap_dac_read_search", "cap_sys_admin,cap_chown",
/// "none".
[[nodiscard]] std::string CapabilitiesInForce();

}  // namespace zarrfs
