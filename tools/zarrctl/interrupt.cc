#include "tools/zarrctl/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <string_view>

namespace zarrfs::ctl {
namespace {

std::atomic<bool> asks_first{false};
std::atomic<bool> stop_requested{false};
std::atomic<bool> unfinished_line{false};
std::atomic<bool> quitting{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // because the signal handler uses it

void Put(int fd, std::string_view text) {
  if (write(fd, text.data(), text.size()) < 0) return;  // a failure cannot be reported
}

extern "C" void OnInterrupt(int number) {
  if (asks_first.load() && !stop_requested.exchange(true)) return;
  quitting.store(true);
  if (isatty(STDERR_FILENO) == 1) {
    Put(STDERR_FILENO, unfinished_line.load() ? "\r\033[K\033[0m" : "\033[0m");
  }
  _exit(128 + number);
}

}  // namespace

void QuitOnInterrupt() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

StopOnInterrupt::StopOnInterrupt() { asks_first.store(true); }
StopOnInterrupt::~StopOnInterrupt() { asks_first.store(false); }

bool StopRequested() { return stop_requested.load(); }

void SetUnfinishedLine(bool unfinished) { unfinished_line.store(unfinished); }

bool IsQuitting() { return quitting.load(); }

}  // namespace zarrfs::ctl
