// Whether the current thread may wait for a store.
//
// A thread that answers from caches must never hang on a dead server. It works inside a NoWaiting
// scope: whatever would block (a store call through GatedStore, a load that another thread runs)
// fails at once with kWouldBlock, and the caller repeats the request on a thread that may wait.
#pragma once

namespace zarrfs {

namespace internal {
inline thread_local bool may_wait = true;
}  // namespace internal

[[nodiscard]] inline bool MayWait() { return internal::may_wait; }

/// While it lives, the current thread may not wait.
class NoWaiting {
 public:
  NoWaiting() : before_(internal::may_wait) { internal::may_wait = false; }
  ~NoWaiting() { internal::may_wait = before_; }
  NoWaiting(const NoWaiting&) = delete;
  NoWaiting& operator=(const NoWaiting&) = delete;

 private:
  const bool before_;
};

}  // namespace zarrfs
