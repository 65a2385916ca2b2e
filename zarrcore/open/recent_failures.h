// RecentFailures: a store that does not wait again for a server that has just not answered.
//
// A program that reads one file makes several requests to the mount, and each needs several
// objects. If each of them waited for a server that hangs, one read would take many times
// `timeout=`. So after a request that failed has waited for a second or longer, requests for the
// same object fail at once for as long as that took, but at most 5 s; and if the server has
// answered nothing since that request began, those for any object fail at once for a second.
#pragma once

#include <cstdint>
#include <memory>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// The default times, in nanoseconds, are shortened by tests.
struct RecentFailuresTimes {
  int64_t costly_ns = 1'000'000'000;
  int64_t max_hold_ns = 5'000'000'000;
  int64_t hold_all_ns = 1'000'000'000;
};

[[nodiscard]] std::shared_ptr<Store> RememberFailures(std::shared_ptr<const Store> store,
                                                      RecentFailuresTimes times = {});

}  // namespace zarrfs
