// What an object of the store was, and when: so that a reader can tell whether what it saw may be.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

namespace zarrfs {

/// Nanoseconds of the steady clock.
using Time = int64_t;

[[nodiscard]] inline Time Now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// The states of one object, one after the other. A state may be seen from when the change to it
/// begins, and the one before until that change has ended. One thread changes, any thread asks.
class History {
 public:
  struct State {
    uint64_t version = 0;     // 0: the object does not exist
    bool unfinished = false;  // being written in place: no version at all
    Time from = 0;
    Time until = std::numeric_limits<Time>::max();
  };

  explicit History(uint64_t version) { states_.push_back({.version = version, .from = Now()}); }

  /// To be called before a change to `version`; with `in_place` all that comes between may be seen.
  void Begin(uint64_t version, bool in_place = false) {
    const std::lock_guard lock(mutex_);
    const Time now = Now();
    if (in_place) states_.push_back({.version = version, .unfinished = true, .from = now});
    states_.push_back({.version = version, .from = now});
  }

  /// After the change; its time.
  Time End() {
    const std::lock_guard lock(mutex_);
    const Time now = Now();
    for (size_t i = states_.size() - 1; i-- > 0 && states_[i].until > now;) states_[i].until = now;
    return now;
  }

  /// Whether a state with `condition` may have been seen between two times.
  template <typename Condition>
  [[nodiscard]] bool Any(Time from, Time until, Condition&& condition) const {
    const std::lock_guard lock(mutex_);
    for (size_t i = states_.size(); i-- > 0 && states_[i].until >= from;) {
      if (states_[i].from <= until && condition(states_[i])) return true;
    }
    return false;
  }

  /// When the last rewriting in place ended; far in the past or future if there was none or it has
  /// not.
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
