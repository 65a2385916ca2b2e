// AtOnce: many calls that wait for a store, on many threads.
#pragma once

#include <cstddef>
#include <functional>

namespace zarrfs {

/// Calls `work` with each number below `count`, on at most `threads` threads at once, this one
/// among them, and returns once all calls have. (On fewer threads where no more are to be had.)
/// Nobody waits for them once nobody waits for this thread (base/waiting.h). An exception of `work`
/// is passed on.
void AtOnce(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace zarrfs
