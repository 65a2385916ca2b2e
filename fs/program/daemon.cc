#include "fs/program/daemon.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "fs/mount/mount_control.h"
#include "fs/mount/mountpoint.h"
#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/process/execution.h"
#include "fs/process/keeper.h"
#include "fs/process/opening.h"
#include "fs/process/service_manager.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/os/memory_limit.h"

namespace zarrfs {

namespace {

// Waits for the keeper's report of the start, prints the error if it failed, and returns the exit
// code.
int AwaitReport(const Channel& channel, pid_t keeper) {
  if (const auto report = channel.Receive()) {
    if (report->kind == Message::Kind::kFailed) PrintError(report->text);
    return static_cast<int>(report->numbers[0]);
  }
  int status = 0;
  TEMP_FAILURE_RETRY(waitpid(keeper, &status, 0));
  PrintError(
      WIFSIGNALED(status)
          ? fmt::format("zarrfs was ended by signal {} before the mount was ready; see its log",
                        WTERMSIG(status))
          : fmt::format("zarrfs exited with status {} before the mount was ready; see its log",
                        WEXITSTATUS(status)));
  return kExitSystem;
}

int FailWith(int code, std::string_view line) {
  PrintError(line);
  return code;
}

// The message after a successful mount: what was mounted; at a terminal also the views and how to
// unmount.
std::string SuccessText(const MountOptions& options, bool at_terminal) {
  const std::string where = Visible(options.mountpoint);
  std::string text =
      fmt::format("zarrfs: {} is mounted at {}\n", Visible(options.source.text()), where);
  if (!at_terminal) return text;
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const View& view = *AllViews()[v];
    if (!options.view.empty() && options.view != view.name()) continue;
    const std::string folder =
        options.view.empty() ? fmt::format("{}/{}", where, view.name()) : where;
    const bool is_listed = !options.view.empty() || options.views[v];
    text += fmt::format("  {:<{}}  {}{}\n", folder, where.size() + 7, view.readers(),
                        is_listed ? "" : " (not listed)");
  }
  return text + fmt::format("  To end it: zarrfs --unmount {}\n", where);
}

// If the store does not report changes, prints how long it may take to notice them, and why.
void PrintDelay(const std::string& mountpoint) {
  const auto mounted = FindMount(mountpoint);
  const std::string reason = mounted ? AskMount(*mounted).Option("not watched") : "";
  if (reason.empty()) return;
  fmt::print(
      "zarrfs: changes are noticed within a minute, because the store does not report them: {}\n",
      Visible(reason));
}

// The number in "/dev/fd/63" or "/proc/self/fd/63"; -1 for any other path.
int DescriptorIn(std::string_view path) {
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int number = -1;
    if (!path.starts_with(folder)) continue;
    const char* const end = path.data() + path.size();
    const auto [stop, error] = std::from_chars(path.data() + folder.size(), end, number);
    if (error == std::errc() && (stop == end || *stop == '/')) return number;
  }
  return -1;
}

// Closes the open descriptors that the program inherited, except those that the options name.
// Otherwise, a mount could hold a script's lock, or the end of a pipe whose reader waits for the
// script.
void CloseInherited(const MountOptions& options) {
  std::set<int> named;
  for (const std::string_view path :
       {std::string_view(options.source.text()), std::string_view(options.mountpoint),
        std::string_view(options.remote.headers_file), std::string_view(options.remote.query_file),
        std::string_view(options.remote.list_file), std::string_view(options.remote.disk_cache),
        std::string_view(options.ids)}) {
    named.insert(DescriptorIn(path));
  }
  unsigned next = STDERR_FILENO + 1;
  for (const int number : named) {
    if (number < static_cast<int>(next)) continue;
    const auto kept = static_cast<unsigned>(number);
    if (kept > next) close_range(next, kept - 1, 0);
    next = kept + 1;
  }
  close_range(next, ~0U, 0);
}

}  // namespace

int RunDaemon(MountOptions options) {
  CloseInherited(options);
  Descriptor program = OpenThisProgram();
  LogToStderr(options.log_level);
  MadeMountPoint folder;
  if (options.makes_mountpoint) folder = MadeMountPoint::Make(options.mountpoint);
  options.makes_mountpoint = folder.is_made();
  auto mountpoint = CheckMount(options);
  if (!mountpoint) {
    const std::string& reason = mountpoint.error().message;
    // `systemctl status` shows the reason until the service is restarted.
    ServiceManager(options.foreground).ShowStatus(reason);
    return FailWith(kExitMountFailed, reason);
  }
  if (!options.source.is_absolute()) {
    options.source = Source(AbsolutePath(options.source.text()));
  }
  options.mountpoint = mountpoint->path;
  const std::string warning = MemoryWarning(options.memory.value_or(0), AvailableMemory());
  if (!warning.empty()) spdlog::warn("{}", warning);

  if (options.fake) {
    const auto opened = TryOpening(options);
    if (!opened) return FailWith(kExitMountFailed, opened.error().message);
    if (!options.by_mount) {
      fmt::print("zarrfs: {} can be mounted at {}\n", Visible(options.source.text()),
                 Visible(options.mountpoint));
    }
    return kExitDone;
  }
  if (options.foreground) return RunKeeper(options, *mountpoint, Channel(), std::move(program));

  auto channel = Channel::MakePair();
  if (!channel)
    return FailWith(kExitSystem, fmt::format("cannot create a socket pair: {}", ErrnoText(errno)));
  auto& [report, keepers_end] = *channel;
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0)
    return FailWith(kExitSystem, fmt::format("cannot fork the keeper: {}", ErrnoText(errno)));
  if (pid == 0) {
    report.Close();
    const int code = RunKeeper(options, *mountpoint, std::move(keepers_end), std::move(program));
    folder.Remove();
    _exit(code);
  }
  keepers_end.Close();
  const int code = AwaitReport(report, pid);
  if (code == kExitDone) folder.Leave();
  const bool at_terminal = !options.by_mount && isatty(STDOUT_FILENO) != 0;
  if (code == kExitDone && (options.verbose || at_terminal)) {
    fmt::print("{}", SuccessText(options, at_terminal && !mountpoint->given));
    if (options.verbose) PrintDelay(options.mountpoint);
  }
  return code;
}

}  // namespace zarrfs
