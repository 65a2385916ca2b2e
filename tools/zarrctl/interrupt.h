// Handles Ctrl-C: a command either ends immediately, or is requested to stop. In either case the
// terminal is restored, and the exit code is 130.
#pragma once

#include <csignal>

namespace zarrfs::ctl {

/// Makes SIGINT and SIGTERM end the program with exit code 128 plus the signal's number, after
/// removing an unfinished line (SetUnfinishedLine) and resetting colours.
void QuitOnInterrupt();

/// While an object of this class exists, the first signal only makes StopRequested() true. The
/// second signal ends the program.
class StopOnInterrupt {
 public:
  StopOnInterrupt();
  ~StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
};

[[nodiscard]] bool StopRequested();

/// Records whether stderr has an unfinished line that will be overwritten.
void SetUnfinishedLine(bool unfinished);

/// True once the program is about to end. Nothing must be drawn after that.
[[nodiscard]] bool IsQuitting();

}  // namespace zarrfs::ctl
