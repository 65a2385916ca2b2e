#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "fs/options/command_line.h"
#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/process/fetcher_start.h"
#include "fs/process/upgrade.h"
#include "fs/process/worker_start.h"
#include "fs/program/commands.h"
#include "fs/program/daemon.h"
#include "zarrcore/os/descriptor.h"

int main(int argc, char** argv) {
  // If stdin, stdout or stderr is closed at the start, opens /dev/null in its place, so no other
  // file gets its number.
  for (;;) {
    zarrfs::Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null || null.get() > STDERR_FILENO) break;
    static_cast<void>(null.release());
  }

  if (const auto code = zarrfs::RunAsWorker(argc, argv)) return *code;
  if (const auto code = zarrfs::RunAsFetcher(argc, argv)) return *code;
  if (const auto code = zarrfs::RunAsTrial(argc, argv)) return *code;
  auto line = zarrfs::ParseCommandLine(argc, argv);
  if (!line) {
    zarrfs::PrintError(line.error().message);
    return zarrfs::kExitUsage;
  }
  switch (line->action) {
    case zarrfs::CommandLine::Action::kShowHelp:
      std::fputs(zarrfs::HelpText().c_str(), stdout);
      return zarrfs::kExitDone;
    case zarrfs::CommandLine::Action::kShowVersion:
      std::fputs(zarrfs::VersionText().c_str(), stdout);
      return zarrfs::kExitDone;
    case zarrfs::CommandLine::Action::kList:
      return zarrfs::ListMounts();
    case zarrfs::CommandLine::Action::kUnmount:
      return zarrfs::UnmountCommand(line->options.mountpoint);
    case zarrfs::CommandLine::Action::kCheck:
      return zarrfs::CheckCommand(std::move(line->options));
    case zarrfs::CommandLine::Action::kUpgrade:
      return zarrfs::UpgradeCommand(line->options.mountpoint, line->options.verbose);
    case zarrfs::CommandLine::Action::kUpgradeAll:
      return zarrfs::UpgradeAllCommand(line->options.verbose);
    case zarrfs::CommandLine::Action::kRemount:
      return zarrfs::RemountCommand(line->options);
    case zarrfs::CommandLine::Action::kMount:
      break;
  }
  return zarrfs::RunDaemon(std::move(line->options));
}
