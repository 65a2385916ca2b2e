// zarrctl: looks into Zarr stores the way zarrfs sees them.
#include <csignal>

#include "tools/zarrctl/command_line.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/local/local_store.h"

int main(int argc, char** argv) {
  // The reader of our output may stop: end quietly, like other filters, even if our parent process
  // ignores the signal.
  std::signal(SIGPIPE, SIG_DFL);
  zarrfs::ctl::QuitOnInterrupt();
  zarrfs::RaiseOpenFileLimit();
  return zarrfs::ctl::FinishOutput(zarrfs::ctl::CommandLine().Run(argc, argv));
}
