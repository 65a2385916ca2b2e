#include "fs/daemon/privileges.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include <memory>
#include <span>
#include <type_traits>

#include "zarrcore/base/result.h"

namespace zarrfs {
namespace {

struct FreeCapabilities {
  void operator()(void* object) const { cap_free(object); }
};
using Capabilities = std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCapabilities>;

bool Has(const Capabilities& set, cap_value_t capability, cap_flag_t flag) {
  cap_flag_value_t value = CAP_CLEAR;
  return cap_get_flag(set.get(), capability, flag, &value) == 0 && value == CAP_SET;
}

// Drops all capabilities but `wanted`; does not add any.
void KeepOnly(std::span<const cap_value_t> wanted) {
  const Capabilities before(cap_get_proc());
  const Capabilities after(cap_init());
  for (const cap_value_t capability : wanted) {
    if (before == nullptr || !Has(before, capability, CAP_PERMITTED)) continue;
    for (const cap_flag_t flag : {CAP_PERMITTED, CAP_EFFECTIVE}) {
      cap_set_flag(after.get(), flag, 1, &capability, CAP_SET);
    }
  }
  if (cap_set_proc(after.get()) != 0) {
    spdlog::warn("capabilities cannot be dropped: {}", ErrnoText(errno));
  }
}

}  // namespace

void KeepMountPrivileges() {
  constexpr cap_value_t kWanted[] = {CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH};
  KeepOnly(kWanted);
}

void KeepReadPrivileges() {
  cap_reset_ambient();
  // Fails without CAP_SETPCAP, as for a user; no_new_privs then has the same effect.
  for (cap_value_t capability = 0; capability < cap_max_bits(); ++capability) {
    cap_drop_bound(capability);
  }
  constexpr cap_value_t kWanted[] = {CAP_DAC_READ_SEARCH};
  KeepOnly(kWanted);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
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
