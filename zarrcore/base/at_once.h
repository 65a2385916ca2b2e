// AtOnce(): runs blocking calls, such as requests to a store, on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace zarrfs {

/// Calls `work` with each number below `count` on at most `threads` threads, including the calling
/// thread, and returns after the last call. If no more threads can be started, the existing threads
/// make all calls. The threads inherit IsAbandoned() (base/waiting.h) and the accepted answers
/// (base/answer_age.h) from the calling thread. If `work` throws, no further calls are started, and
/// the exception is rethrown.
void AtOnce(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace zarrfs
