// Changes the log level of a mount: its daemon accepts SIGUSR2 with a value of 1 to 4 as the new
// level. The mount's .zarrfs/status.json contains the process ID and the current level.
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/mount_status.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"error", "warning", "info", "debug"};
constexpr std::chrono::seconds kTimeout{5};
constexpr std::chrono::milliseconds kPause{50};

std::string UserName(uid_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry != nullptr ? entry->pw_name : fmt::format("user {}", uid);
}

// The reason why the process cannot be the daemon; "" if it may be. The check is necessary because
// SIGUSR2 ends a program that does not handle it, and the process ID may come from another
// container or machine.
std::string WhyNot(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  if (name.find("zarrfs") != std::string::npos) return "";
  return fmt::format("{}; if it is mounted from another container or machine, run this there",
                     name.empty()
                         ? fmt::format("its zarrfs is process {}, which does not exist here", pid)
                         : fmt::format("process {} is {}, not zarrfs", pid, Visible(name)));
}

}  // namespace

int LogLevel(const LogLevelOptions& options) {
  const auto status = ReadMountStatus(options.mount);
  if (!status) return Complain(status.error());
  const auto complain = [&](std::string_view what) {
    return Complain(fmt::format("{}: {}", options.mount, what), kExitSystem);
  };
  std::string level = TextIn(*status, "log_level");
  if (options.level.empty()) {
    Print("{}\n", Visible(level));
    return kExitOk;
  }
  const auto pid = static_cast<pid_t>(std::clamp(NumberIn(*status, "pid"), 0.0, 1e9));
  if (pid <= 1) return complain(".zarrfs/status.json names no process");
  if (const std::string why = WhyNot(pid); !why.empty()) return complain(why);

  sigval value = {};
  value.sival_int =
      static_cast<int>(std::ranges::find(kLevels, options.level) - kLevels.begin()) + 1;
  if (sigqueue(pid, SIGUSR2, value) != 0) {
    const int error = errno;
    if (error != EPERM) return complain(ErrnoText(error));
    struct stat owner = {};
    const bool known = stat(fmt::format("/proc/{}", pid).c_str(), &owner) == 0;
    return complain(
        fmt::format("its zarrfs (process {}) runs as {}: do this as that user or as root", pid,
                    known ? UserName(owner.st_uid) : "another user"));
  }
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (level != options.level) {
    if (std::chrono::steady_clock::now() > end) {
      return complain(fmt::format("the level is still {}; the log may say why", Visible(level)));
    }
    std::this_thread::sleep_for(kPause);
    const auto now = ReadMountStatus(options.mount);
    if (!now) return Complain(now.error());
    level = TextIn(*now, "log_level");
  }
  return kExitOk;
}

}  // namespace zarrfs::ctl
