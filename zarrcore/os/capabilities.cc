#include "zarrcore/os/capabilities.h"

#include <algorithm>
#include <memory>
#include <type_traits>

namespace zarrfs {
namespace {

struct FreeCapabilities {
  void operator()(void* object) const { cap_free(object); }
};
using Capabilities = std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCapabilities>;

}  // namespace

void KeepInBoundingSet(std::span<const cap_value_t> wanted) {
  for (cap_value_t capability = 0; capability < cap_max_bits(); ++capability) {
    if (std::ranges::find(wanted, capability) == wanted.end()) cap_drop_bound(capability);
  }
}

bool KeepCapabilities(std::span<const cap_value_t> wanted) {
  const Capabilities before(cap_get_proc());
  const Capabilities after(cap_init());
  for (const cap_value_t capability : wanted) {
    cap_flag_value_t had = CAP_CLEAR;
    if (before == nullptr || cap_get_flag(before.get(), capability, CAP_PERMITTED, &had) != 0 ||
        had != CAP_SET) {
      continue;
    }
    for (const cap_flag_t flag : {CAP_PERMITTED, CAP_EFFECTIVE}) {
      cap_set_flag(after.get(), flag, 1, &capability, CAP_SET);
    }
  }
  return cap_set_proc(after.get()) == 0;
}

}  // namespace zarrfs
