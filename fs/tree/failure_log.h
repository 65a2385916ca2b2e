// FailureLog: collects problems of the store, and requests that failed because of them, for the
// log, for the file .zarrfs/errors and for the count of damaged objects. Messages in the log are
// throttled. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// Logs the first problem of an object, and after that only how often the problem has recurred. So
/// a program that reads a damaged shard in a loop does not fill the log.
class LogThrottle {
 public:
  using Clock = std::chrono::steady_clock;
  /// The minimum time between two messages about one object. In this time, messages about at most
  /// kMaxObjects objects are logged. Messages about other objects only increment a common count.
  static constexpr std::chrono::seconds kPeriod{60};
  static constexpr size_t kMaxObjects = 256;

  /// `say` logs a line. It runs on the thread that calls a member function.
  explicit LogThrottle(std::function<void(std::string_view)> say) : say_(std::move(say)) {}

  /// Logs `line` if it is the first about `object`, otherwise counts it. `told_elsewhere`: the
  /// event will also be passed to Count(), which must not count it as a repetition.
  void Report(std::string_view object, std::string_view line, Clock::time_point now,
              bool told_elsewhere = false);

  /// Counts an event of `object` without logging `line`, because the event is also passed to
  /// Report().
  void Count(std::string_view object, std::string_view line, Clock::time_point now);

  /// Logs the counts of messages that were not logged, for each kPeriod that has ended. Returns
  /// when to call Sweep() again; max() if nothing was counted.
  Clock::time_point Sweep(Clock::time_point now);

 private:
  struct Object {
    std::string line;  // the latest message
    Clock::time_point said;
    uint64_t again = 0;
    bool is_counted_elsewhere = false;  // ignore the next Count(), which is for the logged message
  };
  // Adds an object to the table. Null if the table is full and each object was logged less than
  // kPeriod ago.
  Object* Make(std::string_view object, Clock::time_point now, std::vector<std::string>& lines)
      REQUIRES(mutex_);
  // Adds a line that says how often the object's message has recurred, if it has and kPeriod is
  // over.
  static void AddSummary(Object& object, Clock::time_point now, std::vector<std::string>& lines);
  void AddOthers(Clock::time_point now, std::vector<std::string>& lines) REQUIRES(mutex_);
  // Calls `add` with the lock held, then unlocks and logs the lines that `add` has added.
  template <typename Add>
  void Say(Add add);

  const std::function<void(std::string_view)> say_;
  Mutex mutex_;
  std::map<std::string, Object, std::less<>> objects_ GUARDED_BY(mutex_);
  // The number of messages about objects for which `objects_` had no room.
  uint64_t others_ GUARDED_BY(mutex_) = 0;
  Clock::time_point others_since_ GUARDED_BY(mutex_);
};

/// The object that an error message is about: the key at the beginning of the message.
[[nodiscard]] std::string_view ObjectOf(std::string_view message);

class FailureLog {
 public:
  FailureLog();

  /// Records a problem found in the store. Call once for each problem.
  void OnReport(const Error& error);
  /// Records a failed request: its description and its error. Damage is only counted, because
  /// OnReport() logs it. kStale is ignored, because it is normal for files that were replaced.
  void OnFailure(std::string_view what, const Error& error);
  /// Adds to .zarrfs/errors a line that is already in the log.
  void Add(std::string_view line);

  /// Starts to log problems. Earlier problems are part of the error of opening the store.
  void StartLogging() { is_logging_ = true; }

  /// The latest lines, from oldest to newest. Text() joins them, each followed by a newline.
  [[nodiscard]] std::vector<std::string> Messages() const;
  [[nodiscard]] std::string Text() const;
  /// The number of damaged objects found.
  [[nodiscard]] uint64_t damage() const { return damage_.load(std::memory_order_relaxed); }

  /// Logs the counts of throttled messages. Returns when to call Sweep() again.
  LogThrottle::Clock::time_point Sweep(LogThrottle::Clock::time_point now) {
    return throttle_.Sweep(now);
  }

 private:
  std::atomic<bool> is_logging_ = false;
  std::atomic<uint64_t> damage_ = 0;
  static constexpr size_t kMaxMessages = 256;
  mutable Mutex mutex_;
  std::deque<std::string> messages_ GUARDED_BY(mutex_);
  LogThrottle throttle_;
};

}  // namespace zarrfs
