// FailureLog: problems of the store, and requests that failed because of them, for the log, the
// file .zarrfs/errors and the count of damaged objects. Throttled: a program that reads a damaged
// shard in a loop does not fill the log. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// Logs the first problem of an object, and then how often it recurred, so that a program that
/// reads a damaged shard in a loop does not fill the log.
class LogThrottle {
 public:
  using Clock = std::chrono::steady_clock;
  /// Minimum seconds between two lines about one object. In this time at most kMaxObjects objects
  /// are logged; messages about others are counted together.
  static constexpr std::chrono::seconds kPeriod{60};
  static constexpr size_t kMaxObjects = 256;

  /// `say` receives the lines, on the thread that calls the member.
  explicit LogThrottle(std::function<void(std::string_view)> say) : say_(std::move(say)) {}

  /// Logs `line` about `object` if it is the first one, otherwise counts it. `told_elsewhere`: the
  /// event is also passed to Count(), which must not take it for a repetition.
  void Report(std::string_view object, std::string_view line, Clock::time_point now,
              bool told_elsewhere = false);

  /// Counts an event of `object` that another component reports.
  void Count(std::string_view object, std::string_view line, Clock::time_point now);

  /// Logs the counts of objects that were not logged for kPeriod. Returns when to call it again;
  /// max() if nothing was counted.
  Clock::time_point Sweep(Clock::time_point now);

 private:
  struct Object {
    std::string line;  // latest one
    Clock::time_point said;
    uint64_t again = 0;
    bool is_counted_elsewhere = false;  // the next Count() is for the line just logged
  };
  // Null if there is no room. The caller holds the lock, as for the next two.
  Object* Make(std::string_view object, Clock::time_point now, std::vector<std::string>& lines);
  // If something was counted and kPeriod is over.
  static void AddSummary(Object& object, Clock::time_point now, std::vector<std::string>& lines);
  void AddOthers(Clock::time_point now, std::vector<std::string>& lines);
  // Calls `add` with the lock held, then logs the lines that it has added.
  template <typename Add>
  void Say(Add add);

  const std::function<void(std::string_view)> say_;
  std::mutex mutex_;  // guards the rest
  std::map<std::string, Object, std::less<>> objects_;
  uint64_t others_ = 0;  // messages about objects beyond the limit
  Clock::time_point others_since_;
};

/// The object of an error message: the key at its beginning.
[[nodiscard]] std::string_view ObjectOf(std::string_view message);

class FailureLog {
 public:
  FailureLog();

  /// A problem found in the store, which the finder reports once.
  void OnReport(const Error& error);
  /// A request failed: its description, and the error. Damage is only counted, because OnReport()
  /// logs it; stale inodes are the normal end of a changed file.
  void OnFailure(std::string_view what, const Error& error);
  /// A line for .zarrfs/errors that was already logged.
  void Add(std::string_view line);

  /// From now on reports are logged. Before, the error of opening the store contains them.
  void StartLogging() { is_logging_ = true; }

  /// The latest lines, oldest first; as one text, each with a newline.
  [[nodiscard]] std::vector<std::string> Messages() const;
  [[nodiscard]] std::string Text() const;
  /// Number of damaged objects found.
  [[nodiscard]] uint64_t damage() const { return damage_.load(std::memory_order_relaxed); }

  /// Logs the counts. Returns when to call it again.
  LogThrottle::Clock::time_point Sweep(LogThrottle::Clock::time_point now) {
    return throttle_.Sweep(now);
  }

 private:
  std::atomic<bool> is_logging_ = false;
  std::atomic<uint64_t> damage_ = 0;
  static constexpr size_t kMaxMessages = 256;
  mutable std::mutex mutex_;
  std::deque<std::string> messages_;  // guarded by it
  LogThrottle throttle_;
};

}  // namespace zarrfs
