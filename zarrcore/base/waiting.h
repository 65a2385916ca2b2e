// Whether the current thread may wait for a store, and whether anybody waits for its result.
//
// A thread that answers from caches must never hang on a dead server. It works inside a NoWaiting
// scope: any call that would block (a store call through GatedStore, a load that another thread
// runs) fails at once with kWouldBlock, and the caller repeats the request on a thread that may
// wait.
//
// When a reader is interrupted, its request is answered early and then abandoned: its next call to
// the store or a codec fails with kWouldBlock, too. Requests that waited for the same result then
// load it themselves.
#pragma once

#include <functional>
#include <utility>

namespace zarrfs {

namespace internal {
inline thread_local bool may_wait = true;
inline thread_local const std::function<bool()>* is_given_up = nullptr;
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

[[nodiscard]] inline bool IsGivenUp() {
  return internal::is_given_up != nullptr && (*internal::is_given_up)();
}

/// While it lives, `is_given_up` tells whether the current thread's work has become useless.
class GivenUpIf {
 public:
  explicit GivenUpIf(std::function<bool()> is_given_up)
      : is_given_up_(std::move(is_given_up)), before_(internal::is_given_up) {
    internal::is_given_up = &is_given_up_;
  }
  ~GivenUpIf() { internal::is_given_up = before_; }
  GivenUpIf(const GivenUpIf&) = delete;
  GivenUpIf& operator=(const GivenUpIf&) = delete;

 private:
  const std::function<bool()> is_given_up_;
  const std::function<bool()>* const before_;
};

}  // namespace zarrfs
