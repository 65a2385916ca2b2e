// The worker's log, which the keeper writes: the worker has no socket to the log, and its standard
// error is /dev/null. Lines come over a pipe. A worker that a hostile store has taken over can
// neither fill the log nor hold up the keeper.
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

  /// Lines a second that are logged; the others are counted.
  static constexpr uint64_t kMaxLines = 200;

  explicit WorkerLog(const std::string& mountpoint) : mountpoint_(mountpoint) {}

  /// A new pipe; returns the worker's end. Empty, with errno, on failure.
  [[nodiscard]] Descriptor Open();
  void Close() { pipe_.reset(); }
  /// For poll(); -1 if there is none.
  [[nodiscard]] int fd() const { return pipe_.get(); }
  /// Logs what has come, without waiting. To be called at least once a second.
  void Take(Clock::time_point now);

 private:
  void OnLine(std::string_view packet);

  const std::string& mountpoint_;
  Descriptor pipe_;
  Clock::time_point second_{};  // when the present one began
  uint64_t lines_ = 0;          // in it
  uint64_t dropped_ = 0;        // lines that were dropped since the log last said how many
};

}  // namespace zarrfs
