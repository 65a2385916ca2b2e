// FailureLog: what the store has wrong, and requests that failed because of it, as the log, the
// file .zarrfs/errors and the count of damaged objects show it. Throttled: a program that reads a
// damaged shard in a loop does not fill the log. Thread-safe.
#ifndef FS_TREE_FAILURE_LOG_H_
#define FS_TREE_FAILURE_LOG_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "fs/tree/log_throttle.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

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

#endif  // FS_TREE_FAILURE_LOG_H_
