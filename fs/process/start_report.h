// StartReport: the keeper's only report on the start of a mount, sent to the process that waits for
// the start. In the foreground no process waits, and a failure is printed.
#pragma once

#include <string_view>
#include <utility>

#include "fs/mount/channel.h"

namespace zarrfs {

class StartReport {
 public:
  /// `waiting` is the channel to the waiting process; closed if no process waits.
  explicit StartReport(Channel waiting) : waiting_(std::move(waiting)) {}

  [[nodiscard]] bool is_pending() const { return state_ == State::kPending; }
  [[nodiscard]] bool is_ready() const { return state_ == State::kReady; }
  [[nodiscard]] bool has_failed() const { return state_ == State::kFailed; }

  /// Reports success. False if the waiting process no longer exists.
  [[nodiscard]] bool Succeed();
  /// Reports a failure; `code` is the exit code of the waiting process.
  void Fail(int code, std::string_view line);

  /// A descriptor on which poll() reports the end of the waiting process; -1 if no process waits.
  [[nodiscard]] int fd() const { return waiting_.fd(); }
  void Close() { waiting_.Close(); }

 private:
  enum class State { kPending, kReady, kFailed };

  Channel waiting_;
  State state_ = State::kPending;
};

}  // namespace zarrfs
