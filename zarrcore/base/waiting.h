// Records, per thread, whether the thread may wait for a store, and whether its work was abandoned.
//
// A thread that answers from caches must never hang on a dead server. Such a thread works in a
// NoWaiting scope. Inside the scope, a call that would block (a store call through GatedStore, or a
// load that another thread runs) fails immediately with kWouldBlock. The caller then repeats the
// request on a thread that may wait.
//
// When a reader is interrupted, its request is answered early, but a thread may still be working on
// the request. The next call of that thread to the store or to a codec also fails with kWouldBlock.
// Other requests that waited for the result then load it themselves.
#pragma once

#include <functional>
#include <utility>

namespace zarrfs {

namespace internal {
inline thread_local bool may_wait = true;
inline thread_local const std::function<bool()>* is_abandoned = nullptr;
}  // namespace internal

[[nodiscard]] inline bool MayWait() { return internal::may_wait; }

/// A scope in which the current thread must not wait for the store. Calls that would have to wait
/// fail with kWouldBlock.
class NoWaiting {
 public:
  NoWaiting() : before_(internal::may_wait) { internal::may_wait = false; }
  ~NoWaiting() { internal::may_wait = before_; }
  NoWaiting(const NoWaiting&) = delete;
  NoWaiting& operator=(const NoWaiting&) = delete;

 private:
  const bool before_;
};

[[nodiscard]] inline bool IsAbandoned() {
  return internal::is_abandoned != nullptr && (*internal::is_abandoned)();
}

/// A scope in which IsAbandoned() returns the result of `is_abandoned` on the current thread.
class AbandonedIf {
 public:
  explicit AbandonedIf(std::function<bool()> is_abandoned)
      : is_abandoned_(std::move(is_abandoned)), before_(internal::is_abandoned) {
    internal::is_abandoned = &is_abandoned_;
  }
  ~AbandonedIf() { internal::is_abandoned = before_; }
  AbandonedIf(const AbandonedIf&) = delete;
  AbandonedIf& operator=(const AbandonedIf&) = delete;

 private:
  const std::function<bool()> is_abandoned_;
  const std::function<bool()>* const before_;
};

}  // namespace zarrfs
