// The daemon takes SIGUSR2 with a value of 1 to 4 as a new log level; its .zarrfs/options names the
// process and the level in force.
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/mount_files.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"error", "warning", "info", "debug"};
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kPause{50};

std::optional<pid_t> ParsePid(const std::string& text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size() || pid <= 1) return std::nullopt;
  return pid;
}

std::string UserName(uid_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry != nullptr ? entry->pw_name : fmt::format("user {}", uid);
}

// Why the process cannot be the daemon; empty if it may be. SIGUSR2 ends a program that does not
// expect it, and the number may be one of another container's or machine's processes.
std::string WhyNot(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  if (name.find("zarrfs") != std::string::npos) return "";
  return fmt::format("{}; is it mounted from another container or machine? Then do this there",
                     name.empty()
                         ? fmt::format("its zarrfs is process {}, which is not here", pid)
                         : fmt::format("process {} is {}, not zarrfs", pid, Visible(name)));
}

}  // namespace

int RunLogLevel(const LogLevelOptions& options) {
  const auto in_force = ReadMountOptions(options.mount);
  if (!in_force) return Complain(in_force.error());
  const auto level = in_force->find("log_level");
  const auto pid_line = in_force->find("pid");
  const auto complain = [&](std::string_view what) {
    Complain(fmt::format("{}: {}", options.mount, what));
    return kExitSystem;
  };
  if (level == in_force->end() || pid_line == in_force->end()) {
    return complain(
        "its zarrfs is too old to say or change its log level; unmount and mount it again, with "
        "-o log_level=LEVEL");
  }
  if (options.level.empty()) {
    Print("{}\n", Visible(level->second));
    return kExitOk;
  }
  const auto pid = ParsePid(pid_line->second);
  if (!pid) return complain(".zarrfs/options names no process");
  if (const std::string why = WhyNot(*pid); !why.empty()) return complain(why);

  sigval value = {};
  value.sival_int =
      static_cast<int>(std::ranges::find(kLevels, options.level) - kLevels.begin()) + 1;
  if (sigqueue(*pid, SIGUSR2, value) != 0) {
    const int error = errno;
    if (error != EPERM) return complain(std::strerror(error));
    struct stat owner = {};
    const bool known = stat(fmt::format("/proc/{}", *pid).c_str(), &owner) == 0;
    return complain(
        fmt::format("its zarrfs (process {}) runs as {}: do this as that user or as root", *pid,
                    known ? UserName(owner.st_uid) : "another user"));
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (std::string seen = level->second;; std::this_thread::sleep_for(kPause)) {
    const auto now = ReadMountOptions(options.mount);
    if (!now) return Complain(now.error());
    if (const auto found = now->find("log_level"); found != now->end()) seen = found->second;
    if (seen == options.level) return kExitOk;
    if (std::chrono::steady_clock::now() > end) {
      return complain(fmt::format("the level is still {}; the log may say why", Visible(seen)));
    }
  }
}

}  // namespace zarrfs::ctl
