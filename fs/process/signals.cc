#include "fs/process/signals.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "fs/options/log.h"

namespace zarrfs {

Result<Descriptor> TakeSignals() {
  constexpr int kTaken[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : kTaken) sigaddset(&taken, number);
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;  // a background job of a shell starts with SIGINT ignored
  for (const int number : kTaken) sigaction(number, &action, nullptr);
  sigaction(SIGCHLD, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigprocmask(SIG_BLOCK, &taken, nullptr);
  Descriptor signals(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return Fail(ErrorCode::kIo, "cannot create a signalfd: {}", ErrnoText(errno));
  return signals;
}

bool EndingIsAlwaysAsked() {
  const char* const policy = std::getenv("ZARRFS_OOM_POLICY");
  return policy != nullptr && std::string_view(policy) == "continue";
}

Result<std::string_view> LevelAskedFor(const signalfd_siginfo& signal) {
  if (signal.ssi_code == SI_QUEUE) {
    if (signal.ssi_int >= 1 && signal.ssi_int <= static_cast<int>(kLogLevels.size())) {
      return kLogLevels[static_cast<size_t>(signal.ssi_int) - 1];
    }
    return Fail(ErrorCode::kInvalidArgument,
                "signal {}: expected a log level from 1 to {}, found {}", signal.ssi_signo,
                kLogLevels.size(), signal.ssi_int);
  }
  // The level after "debug" is "info".
  const auto level = std::ranges::find(kLogLevels, LogLevel());
  const size_t next = static_cast<size_t>(level - kLogLevels.begin()) + 1;
  return kLogLevels[next < kLogLevels.size() ? next : 2];
}

}  // namespace zarrfs
