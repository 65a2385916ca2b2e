// FailureLog: what the store has wrong, and requests that failed because of it, as the log, the
// file .zarrfs/errors and the count of damaged objects show it. Throttled: a program that reads a
// damaged shard in a loop does not fill the log. Thread-safe.
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

/// Says what is wrong with an object once, and then how often it happened again, so
/// that a program that reads a damaged shard in a loop does not fill the log.
class LogThrottle {
 public:
  using Clock = std::chrono::steady_clock;
  /// There are at least so many seconds between two lines about one object, and in them no more
  /// than kMaxObjects objects are spoken of; the messages about others are counted together.
  static constexpr std::chrono::seconds kPeriod{60};
  static constexpr size_t kMaxObjects = 256;

  /// `say` gets the lines; called from whichever thread calls this.
  explicit LogThrottle(std::function<void(std::string_view)> say) : say_(std::move(say)) {}

  /// `line` about `object`: said if nothing was said about it yet, else counted.
  /// `told_elsewhere`: what happened is also given to Count(), which shall not take it for a
  /// repeat.
  void Report(std::string_view object, std::string_view line, Clock::time_point now,
              bool told_elsewhere = false);

  /// Something that somebody else reports happened (again) with `object`.
  void Count(std::string_view object, std::string_view line, Clock::time_point now);

  /// Says what was counted of objects about which nothing was said for kPeriod. When to call it
  /// again; max() if nothing was counted.
  Clock::time_point Sweep(Clock::time_point now);

 private:
  struct Object {
    std::string line;  // the last
    Clock::time_point said;
    uint64_t again = 0;
    bool is_counted_elsewhere = false;  // the next Count() is of what was said
  };
  // Null if there is no room. Called with the lock held, as are the next two.
  Object* Make(std::string_view object, Clock::time_point now, std::vector<std::string>& lines);
  // If something was counted and kPeriod is over.
  static void AddSummary(Object& object, Clock::time_point now, std::vector<std::string>& lines);
  void AddOthers(Clock::time_point now, std::vector<std::string>& lines);
  // Calls `add` with the lock held, then says the lines that it has added.
  template <typename Add>
  void Say(Add add);

  const std::function<void(std::string_view)> say_;
  std::mutex mutex_;  // guards the rest
  std::map<std::string, Object, std::less<>> objects_;
  uint64_t others_ = 0;  // messages about objects for which there was no room
  Clock::time_point others_since_;
};

/// The object that an error message is about: the key that it begins with.
[[nodiscard]] std::string_view ObjectOf(std::string_view message);

class FailureLog {
 public:
  FailureLog();

  /// A problem found in the store, reported once by who found it.
  void OnReport(const Error& error);
  /// A request failed: `what` it was, and why. Damage is only counted, because OnReport() has it;
  /// stale inodes are the normal end of a changed file.
  void OnFailure(std::string_view what, const Error& error);
  /// A line for .zarrfs/errors that was logged already.
  void Add(std::string_view line);

  /// From now on reports are logged. Before, the error that opening the store fails with says it.
  void StartLogging() { is_logging_ = true; }

  /// The last lines, oldest first; as one text, each with a newline.
  [[nodiscard]] std::vector<std::string> Messages() const;
  [[nodiscard]] std::string Text() const;
  /// Damaged objects found.
  [[nodiscard]] uint64_t damage() const { return damage_.load(std::memory_order_relaxed); }

  /// Logs what was counted. When to call it again.
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
