#include "fs/process/privileges.h"

#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <memory>
#include <span>
#include <type_traits>

#include "zarrcore/base/result.h"
#include "zarrcore/os/capabilities.h"

namespace zarrfs {
namespace {

// The range of user ids for workers and fetchers. It is systemd's range for services without an
// account (DynamicUser=). So no account has these ids, and journald keeps messages of these users
// with those of the system. Mounts usually get different ids, because the kernel limits inotify
// instances per user, by default to 128.
constexpr uid_t kFirstUser = 61184;
constexpr uid_t kUsers = 4336;

struct FreeCapabilities {
  void operator()(void* object) const { cap_free(object); }
};
using Capabilities = std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCapabilities>;

bool Has(const Capabilities& set, cap_value_t capability, cap_flag_t flag) {
  cap_flag_value_t value = CAP_CLEAR;
  return cap_get_flag(set.get(), capability, flag, &value) == 0 && value == CAP_SET;
}

void KeepOnly(std::span<const cap_value_t> wanted) {
  if (!KeepCapabilities(wanted)) {
    spdlog::warn("capabilities cannot be dropped: {}", ErrnoText(errno));
  }
}

// Returns why the user cannot be changed; "" on success. The permitted capabilities stay.
std::string BecomeUser(uid_t user) {
  const Capabilities now(cap_get_proc());
  // The keeper has no more capabilities than this process, so it needs CAP_KILL to be able to kill
  // the process. Without CAP_DAC_READ_SEARCH, as in containers, the user decides which files are
  // readable.
  for (const cap_value_t needed : {CAP_SETUID, CAP_SETGID, CAP_KILL, CAP_DAC_READ_SEARCH}) {
    if (now != nullptr && Has(now, needed, CAP_EFFECTIVE)) continue;
    const std::unique_ptr<char, FreeCapabilities> name(cap_to_name(needed));
    return fmt::format("needs {}", name != nullptr ? name.get() : "capabilities");
  }
  int end_with_parent = 0;
  prctl(PR_GET_PDEATHSIG, &end_with_parent);
  prctl(PR_SET_KEEPCAPS, 1);
  if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
      setresuid(user, user, user) != 0) {
    std::string why = ErrnoText(errno);
    if (setresgid(0, 0, 0) != 0) why += ", and the group cannot be restored";
    return why;
  }
  // The kernel resets two attributes when the user changes: PR_SET_PDEATHSIG and PR_SET_DUMPABLE.
  prctl(PR_SET_PDEATHSIG, end_with_parent);
  prctl(PR_SET_DUMPABLE, 1);
  return "";
}

}  // namespace

void KeepMountPrivileges() {
  constexpr cap_value_t kWanted[] = {CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH, CAP_SETUID, CAP_SETGID,
                                     CAP_KILL};
  KeepInBoundingSet(kWanted);
  KeepOnly(kWanted);
  // Other users mount through fusermount3, which is set-uid root and would fail with no_new_privs.
  if (geteuid() == 0) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

std::string KeepReadPrivileges(std::optional<uid_t> user) {
  cap_reset_ambient();
  KeepInBoundingSet({});  // if it fails, no_new_privs has the same effect
  std::string why_not = user ? BecomeUser(*user) : "";
  constexpr cap_value_t kWanted[] = {CAP_DAC_READ_SEARCH};
  KeepOnly(kWanted);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return why_not;
}

void KeepNoPrivileges() {
  cap_reset_ambient();
  KeepInBoundingSet({});
  KeepOnly({});
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

uid_t UserWithoutAccount(pid_t keeper, bool is_fetcher) {
  const uid_t number = static_cast<uid_t>(keeper) + (is_fetcher ? kUsers / 2 : 0);
  return kFirstUser + number % kUsers;
}

std::string CapabilitiesInForce() {
  const Capabilities now(cap_get_proc());
  std::string names;
  for (cap_value_t capability = 0; now != nullptr && capability < cap_max_bits(); ++capability) {
    if (!Has(now, capability, CAP_EFFECTIVE)) continue;
    const std::unique_ptr<char, FreeCapabilities> name(cap_to_name(capability));
    if (!names.empty()) names += ',';
    names += name != nullptr ? name.get() : fmt::format("{}", capability);
  }
  return names.empty() ? "none" : names;
}

}  // namespace zarrfs
