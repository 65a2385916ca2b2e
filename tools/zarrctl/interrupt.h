// Ctrl-C: a command either ends at once or is asked to stop; both restore the terminal and return
// exit code 130.
#pragma once

#include <csignal>

namespace zarrfs::ctl {

/// From now on SIGINT and SIGTERM end the program with 128 plus the signal's number, after removing
/// an unfinished line (SetUnfinishedLine) and resetting colours.
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

/// Whether stderr is in the middle of a line that will be overwritten.
void SetUnfinishedLine(bool unfinished);

/// True once the program is ending: nothing may be drawn any more.
[[nodiscard]] bool IsQuitting();

}  // namespace zarrfs::ctl
