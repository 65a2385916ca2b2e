#include "fs/daemon/daemon.h"

#include <fcntl.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "fs/daemon/exit_code.h"
#include "fs/daemon/keeper.h"
#include "fs/daemon/log.h"
#include "fs/daemon/mountpoint.h"
#include "fs/daemon/report.h"
#include "fs/daemon/worker.h"
#include "zarrcore/base/descriptor.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {

int RunDaemon(MountOptions options) {
  LogToStderr(options.log_level);
  auto mountpoint = CheckMount(options);
  if (!mountpoint) {
    const std::string& reason = mountpoint.error().message;
    PrintError(reason);
    // `systemctl status` shows it until the service is restarted.
    if (options.foreground)
      sd_notify(/*unset_environment=*/0, ("STATUS=" + OneLine(reason)).c_str());
    return kExitMountFailed;
  }
  options.source = AbsolutePath(options.source);
  options.mountpoint = mountpoint->path;

  if (options.fake) {
    if (const auto opened = TryOpening(options); !opened) {
      PrintError(opened.error().message);
      return kExitMountFailed;
    }
    return kExitDone;
  }
  if (options.foreground) return RunKeeper(options, *mountpoint, Descriptor());

  std::array<int, 2> pipe = {-1, -1};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
    PrintError(fmt::format("no pipe: {}", ErrnoText(errno)));
    return kExitSystem;
  }
  Descriptor report(pipe[0]);
  Descriptor keepers_end(pipe[1]);
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    PrintError(fmt::format("no process: {}", ErrnoText(errno)));
    return kExitSystem;
  }
  if (pid == 0) {
    report.reset();
    _exit(RunKeeper(options, *mountpoint, std::move(keepers_end)));
  }
  keepers_end.reset();
  const int code = AwaitReport(report.get(), pid);
  if (code == kExitDone && options.verbose) {
    fmt::print("zarrfs: {} is mounted at {}\n", options.source, options.mountpoint);
  }
  return code;
}

}  // namespace zarrfs
