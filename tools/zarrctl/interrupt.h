// Ctrl-C: a command either ends at once or is asked to stop; both leave the terminal as it was and
// give exit code 130.
#pragma once

#include <csignal>

namespace zarrfs::ctl {

/// From now on SIGINT and SIGTERM end the program with 128 and the signal's number, after they
/// removed a line that is not finished (SetUnfinishedLine) and ended colours.
void QuitOnInterrupt();

/// While it lives, the first signal only makes StopRequested() true; a second one ends the program.
class StopOnInterrupt {
 public:
  StopOnInterrupt();
  ~StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
};

[[nodiscard]] bool StopRequested();

/// Whether stderr stands in the middle of a line that another is to be drawn over.
void SetUnfinishedLine(bool unfinished);

/// True once the program is being ended: nothing is to be drawn any more.
[[nodiscard]] bool IsQuitting();

}  // namespace zarrfs::ctl
