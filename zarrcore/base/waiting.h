// Whether the current thread may wait for a store, and whether anybody waits for it.
//
// A thread that answers from caches must never hang on a dead server. It works inside a NoWaiting
// scope: whatever would block (a store call through GatedStore, a load that another thread runs)
// fails at once with kWouldBlock, and the caller repeats the request on a thread that may wait.
//
// A request that was answered meanwhile, because its reader was interrupted, is not worked on any
// further: its next call of the store, or of a codec, fails with kWouldBlock, too. (What others
// wait for as well they then do themselves.)
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

/// While it lives, `is_given_up` says whether what the current thread does is of no use any more.
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
