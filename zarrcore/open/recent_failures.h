// RecentFailures: a store that does not wait again for a server that has just failed to answer.
//
// A program that reads one file makes several requests to the mount, and each needs several
// objects. If each request waited for a hung server, one read would take many times `timeout=`. So
// if a request fails with kTimedOut or kIo after a second or more, requests for the same object
// fail immediately for the same length of time, at most 5 s. If the server has answered nothing
// since the failed request began, requests for any object fail immediately for one second.
#pragma once

#include <cstdint>
#include <memory>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// The limits described above, in nanoseconds. Tests use shorter times.
struct RecentFailuresTimes {
  int64_t costly_ns = 1'000'000'000;
  int64_t max_hold_ns = 5'000'000'000;
  int64_t hold_all_ns = 1'000'000'000;
};

[[nodiscard]] std::shared_ptr<Store> RememberFailures(std::shared_ptr<const Store> store,
                                                      RecentFailuresTimes times = {});

}  // namespace zarrfs
