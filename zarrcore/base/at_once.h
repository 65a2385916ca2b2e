// AtOnce: runs calls that wait for a store on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace zarrfs {

/// Calls `work` with each number below `count` on at most `threads` threads, including this one,
/// and returns after the last call. Uses fewer threads if no more can be started. Once nobody waits
/// for this thread (base/waiting.h), the calls know that nobody waits for them either. Rethrows an
/// exception of `work`.
void AtOnce(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace zarrfs
