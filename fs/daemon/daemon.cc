#include "fs/daemon/daemon.h"

#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "fs/daemon/exit_code.h"
#include "fs/daemon/keeper.h"
#include "fs/daemon/log.h"
#include "fs/daemon/mountpoint.h"
#include "fs/daemon/worker.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {

namespace {

// Waits for the keeper's report of the start, prints the line of a failure and returns the code.
int AwaitReport(const Channel& channel, pid_t keeper) {
  if (const auto report = channel.Receive()) {
    if (report->kind == Message::Kind::kFailed) PrintError(report->text);
    return static_cast<int>(report->numbers[0]);
  }
  int status = 0;
  TEMP_FAILURE_RETRY(waitpid(keeper, &status, 0));
  PrintError(WIFSIGNALED(status)
                 ? fmt::format("ended by signal {} before the mount was ready", WTERMSIG(status))
                 : "ended before the mount was ready");
  return kExitSystem;
}

int FailWith(int code, std::string_view line) {
  PrintError(line);
  return code;
}

}  // namespace

int RunDaemon(MountOptions options) {
  LogToStderr(options.log_level);
  auto mountpoint = CheckMount(options);
  if (!mountpoint) {
    const std::string& reason = mountpoint.error().message;
    // `systemctl status` shows it until the service is restarted.
    if (options.foreground) {
      sd_notify(/*unset_environment=*/0, ("STATUS=" + OneLine(reason)).c_str());
    }
    return FailWith(kExitMountFailed, reason);
  }
  options.source = AbsolutePath(options.source);
  options.mountpoint = mountpoint->path;

  if (options.fake) {
    const auto opened = TryOpening(options);
    return opened ? kExitDone : FailWith(kExitMountFailed, opened.error().message);
  }
  if (options.foreground) return RunKeeper(options, *mountpoint, Channel());

  auto channel = Channel::MakePair();
  if (!channel) return FailWith(kExitSystem, fmt::format("no pipe: {}", ErrnoText(errno)));
  auto& [report, keepers_end] = *channel;
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return FailWith(kExitSystem, fmt::format("no process: {}", ErrnoText(errno)));
  if (pid == 0) {
    report.Close();
    _exit(RunKeeper(options, *mountpoint, std::move(keepers_end)));
  }
  keepers_end.Close();
  const int code = AwaitReport(report, pid);
  if (code == kExitDone && options.verbose) {
    fmt::print("zarrfs: {} is mounted at {}\n", options.source, options.mountpoint);
  }
  return code;
}

}  // namespace zarrfs
