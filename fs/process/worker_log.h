// WorkerLog: the keeper's end of the worker's log. The worker sends its log lines over a pipe,
// because it has no socket to the log and its standard error is /dev/null. A worker that a hostile
// store has compromised can neither fill the log nor delay the keeper.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class WorkerLog {
 public:
  using Clock = std::chrono::steady_clock;

  /// The maximum number of lines logged per second. Further lines are dropped and counted.
  static constexpr uint64_t kMaxLines = 200;

  explicit WorkerLog(const std::string& mountpoint) : mountpoint_(mountpoint) {}

  /// Makes a new pipe and returns the worker's end. Empty, with errno set, on failure.
  [[nodiscard]] Descriptor Open();
  void Close() { pipe_.reset(); }
  /// The keeper's end of the pipe, for poll(); -1 without a pipe.
  [[nodiscard]] int fd() const { return pipe_.get(); }
  /// Logs the lines that have arrived, without waiting. Call at least once a second.
  void Take(Clock::time_point now);

 private:
  void OnLine(std::string_view packet);

  const std::string& mountpoint_;
  Descriptor pipe_;
  Clock::time_point second_{};  // when the current second began
  uint64_t lines_ = 0;          // lines logged in the current second
  uint64_t dropped_ = 0;        // the number of lines dropped since the log last reported it
};

}  // namespace zarrfs
