// zarrctl: inspects Zarr stores the way zarrfs sees them.
#include <csignal>

#include "tools/zarrctl/command_line.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/local/local_store.h"

int main(int argc, char** argv) {
  // If the reader of stdout stops reading, the program ends silently, like other filters, even if
  // the parent process ignores SIGPIPE.
  std::signal(SIGPIPE, SIG_DFL);
  zarrfs::ctl::QuitOnInterrupt();
  zarrfs::RaiseOpenFileLimit();
  return zarrfs::ctl::FinishOutput(zarrfs::ctl::CommandLine().Run(argc, argv));
}
