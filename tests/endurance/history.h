// The history of an object in the store. A reader checks what it saw against the history.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

namespace zarrfs {

/// A time of the steady clock, in nanoseconds.
using Time = int64_t;

[[nodiscard]] inline Time Now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// The states of one object, in order. A state may be seen once the change to it begins; the
/// previous state may be seen until that change ends. One thread makes changes, any thread may
/// query.
class History {
 public:
  struct State {
    uint64_t version = 0;     // 0 if the object does not exist
    bool unfinished = false;  // true during a rewrite in place, when any bytes may be seen
    Time from = 0;
    Time until = std::numeric_limits<Time>::max();
  };

  explicit History(uint64_t version) { states_.push_back({.version = version, .from = Now()}); }

  /// Call before a change to `version`. With `in_place`, any bytes may be seen during the change.
  void Begin(uint64_t version, bool in_place = false) {
    const std::lock_guard lock(mutex_);
    const Time now = Now();
    if (in_place) states_.push_back({.version = version, .unfinished = true, .from = now});
    states_.push_back({.version = version, .from = now});
  }

  /// Call after the change. Returns the time of its end.
  Time End() {
    const std::lock_guard lock(mutex_);
    const Time now = Now();
    for (size_t i = states_.size() - 1; i-- > 0 && states_[i].until > now;) states_[i].until = now;
    return now;
  }

  /// True if a state that meets `condition` may have been seen between two times.
  template <typename Condition>
  [[nodiscard]] bool Any(Time from, Time until, Condition&& condition) const {
    const std::lock_guard lock(mutex_);
    for (size_t i = states_.size(); i-- > 0 && states_[i].until >= from;) {
      if (states_[i].from <= until && condition(states_[i])) return true;
    }
    return false;
  }

  /// The end of the last rewrite in place; 0 if there was none, far in the future if it has not
  /// ended.
  [[nodiscard]] Time LastUnfinished() const {
    const std::lock_guard lock(mutex_);
    for (size_t i = states_.size(); i-- > 0;) {
      if (states_[i].unfinished) return states_[i].until;
    }
    return 0;
  }

  [[nodiscard]] bool Changed(Time from, Time until) const {
    int states = 0;
    return Any(from, until, [&](const State&) { return ++states > 1; });
  }

  [[nodiscard]] State Latest() const {
    const std::lock_guard lock(mutex_);
    return states_.back();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<State> states_;
};

}  // namespace zarrfs
