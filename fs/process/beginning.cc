#include "fs/process/beginning.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include <cerrno>
#include <utility>

#include "zarrcore/base/result.h"

namespace zarrfs {
namespace {

// How many seconds a program may take to report that it runs. Programs on a slow disk or server
// start late.
constexpr int kTicks = 10;
// The number of seconds that a killed child may take to end.
constexpr int kReapTicks = 2;

std::string TextOf(std::optional<int> status) {
  if (!status) return "was killed";
  return WIFSIGNALED(*status) ? fmt::format("was ended by signal {}", WTERMSIG(*status))
                              : fmt::format("ended with exit code {}", WEXITSTATUS(*status));
}

}  // namespace

void Beginning::OnStart(bool executes) {
  executes_ = executes;
  begun_ = false;
  ticks_ = 0;
  failed_.clear();
}

void Beginning::OnEnd(std::optional<int> status) {
  if (!executes_ || begun_) return;
  // A SIGKILL soon after the start came from outside, so it says nothing about the program.
  const bool was_killed = status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
  if (!was_killed || ticks_ >= kTicks) failed_ = TextOf(status);
}

Beginning::Step Beginning::Tick() {
  if (!executes_ || begun_) return Step::kNone;
  if (++ticks_ == kTicks) {
    spdlog::warn("{}: the program of the {} has not reported within {} s: it is killed",
                 mountpoint_, what_, kTicks);
    return Step::kKill;
  }
  return ticks_ < kTicks + kReapTicks ? Step::kNone : Step::kLeaveBehind;
}

bool Beginning::HasFailed() {
  const std::string how = std::exchange(failed_, "");
  if (how.empty()) return false;
  spdlog::warn(
      "{}: the program of the {} {} before it began; the {} is a copy of its keeper's process",
      mountpoint_, what_, how, what_);
  return true;
}

void Beginning::LogNoProgram() const {
  spdlog::warn(
      "{}: the program of the {} cannot be run: {}; the {} is a copy of its keeper's process",
      mountpoint_, what_, ErrnoText(errno), what_);
}

}  // namespace zarrfs
