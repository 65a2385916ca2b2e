// AtOnce(): runs blocking calls, such as requests to a store, on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace zarrfs {

/// Calls `work` with each number below `count` on at most `threads` threads, including the calling
/// thread, and returns after the last call. If no more threads can be started, the existing threads
/// do all the calls. IsGivenUp() (base/waiting.h) returns on each thread what it returns on the
/// calling thread, and each thread accepts the same answers of stores (base/answer_age.h). If
/// `work` throws, no further calls are started, and the exception is rethrown.
void AtOnce(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace zarrfs
