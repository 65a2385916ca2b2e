#include "fs/daemon/keeper.h"

#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "fs/daemon/exit_code.h"
#include "fs/daemon/log.h"
#include "fs/daemon/own_mount.h"
#include "fs/daemon/privileges.h"
#include "fs/daemon/session.h"
#include "fs/daemon/settings.h"
#include "fs/daemon/workers.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

using Clock = std::chrono::steady_clock;

// How long the worker may take to end once its mount is gone.
constexpr auto kWorkerLimit = std::chrono::seconds(3);
// How often the keeper checks for a killed worker that cannot end.
constexpr int kWatchMs = 1000;

class Keeper {
 public:
  Keeper(const MountOptions& options, const MountPoint& mountpoint, Channel report)
      : options_(options),
        mount_(mountpoint, /*outlives_workers=*/!WhyNoIoUring(options).empty()),
        report_(std::move(report)) {}

  int Run();

 private:
  // Sets up signals and starts the worker.
  Result<void> Start();
  // Reports a failed start, once. No effect after a successful one.
  void EndStart(int code, std::string_view line);
  // The same, and ends the worker.
  void FailStart(int code, std::string_view line) {
    EndStart(code, line);
    EndWorker();
  }
  // False if the process that waits for the report is gone.
  bool Report(int code, std::string_view line) const;
  bool starting() const { return !ready_ && !failed_; }

  // No effect in the background, where no service manager waits.
  void NotifyServiceManager(const std::string& state) const;
  std::string StatusLine() const {
    if (!workers_.errors_only().empty()) {
      return OneLine("STATUS=" + mountpoint() + " serves " + workers_.errors_only());
    }
    return OneLine(fmt::format("STATUS=serving {} on {}", options_.source, mountpoint()));
  }

  void OnSignal();
  void OnEndingSignal(uint32_t number);
  void ChangeLogLevel(const signalfd_siginfo& signal);
  void SetLevel(std::string_view level);
  void Reload();

  void OnMessage(Message& message);
  void OnOpened(Message& message);
  void OnReady();
  void OnWorkerFailed(const Message& message);
  // Asks the worker to end. KillLateWorker() kills it after kWorkerLimit.
  void EndWorker();
  // How long the loop may wait, in milliseconds.
  int KillLateWorker();
  // Every kWatchMs.
  void Watch();
  // The worker has closed its end of the channel. True if another one serves on.
  bool OnWorkerEnd();
  bool CanReplace() const {
    return mount_.outlives_workers() && ready_ && !ending_ && !gives_up_ && mount_.IsConnected();
  }
  void Replace() { NotifyServiceManager(fmt::format("STATUS={}", OneLine(workers_.Replace()))); }
  // There is no worker, and there will be none. Returns the exit code.
  int Finish();
  // Why the mount is dead; "" after a clean end.
  std::string UncleanEnd() const;
  const std::string& mountpoint() const { return mount_.path(); }

  MountOptions options_;  // `config` as last read
  OwnMount mount_;
  Channel report_;
  Descriptor signals_;
  Workers workers_{options_, mount_.path(), [this] {
                     signals_.reset();
                     report_.Close();
                     mount_.Close();
                   }};

  bool ready_ = false;
  bool failed_ = false;
  int exit_code_ = kExitDone;
  bool asked_before_ = false;  // an earlier signal found the mount busy
  bool ending_ = false;
  bool was_killed_ = false;         // the worker, because it took too long to end
  bool gives_up_ = false;           // the mount dies with the worker
  Clock::time_point worker_limit_;  // while ending
};

Result<void> Keeper::Start() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR2}) sigaddset(&taken, number);
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;  // a shell's background job inherits SIGINT ignored
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGCHLD}) {
    sigaction(number, &action, nullptr);
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigprocmask(SIG_BLOCK, &taken, nullptr);
  signals_.reset(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return Fail(ErrorCode::kIo, "no descriptors: {}", ErrnoText(errno));
  // Also in the foreground: the working folder may lie below the mount point.
  if (chdir("/") != 0) spdlog::debug("chdir /: {}", ErrnoText(errno));
  if (mount_.outlives_workers()) {
    if (auto made = workers_.MakeJournal(); !made) return made;
  }
  if (auto started = workers_.Start(/*takes_over=*/false); !started) return started;
  KeepMountPrivileges();
  return {};
}

void Keeper::EndStart(int code, std::string_view line) {
  if (!starting()) return;
  failed_ = true;
  exit_code_ = code;
  mount_.Undo();
  Report(code, line);
  NotifyServiceManager(fmt::format("STATUS={}", OneLine(line)));
}

bool Keeper::Report(int code, std::string_view line) const {
  const auto kind = code == kExitDone ? Message::Kind::kReady : Message::Kind::kFailed;
  if (report_.fd() >= 0) return report_.Send({kind, {static_cast<uint64_t>(code)}, OneLine(line)});
  if (code != kExitDone) PrintError(line);
  return true;
}

void Keeper::EndWorker() {
  if (ending_) return;
  ending_ = true;
  if (ready_) NotifyServiceManager("STOPPING=1\nSTATUS=ending");
  worker_limit_ = Clock::now() + kWorkerLimit;
  // After a failed start there is nothing to shut down; nor is there without a store.
  if (!ready_ || !workers_.errors_only().empty() || !workers_.Tell({Message::Kind::kEnd})) {
    workers_.Kill();
  }
}

void Keeper::OnOpened(Message& message) {
  if (starting()) {
    if (const auto made = mount_.Make(options_); !made) {
      return FailStart(kExitMountFailed, made.error().message);
    }
    workers_.set_source(std::move(message.passed));
  }
  if (const auto given = mount_.GiveTo(workers_.channel(), !options_.no_resend); !given) {
    FailStart(kExitMountFailed, given.error().message);
  }
}

void Keeper::OnReady() {
  if (ready_ && !ending_) {
    if (workers_.errors_only().empty()) {
      spdlog::info("{}: another worker serves", mountpoint());
    } else {
      spdlog::error("{} serves {}; end it with zarrfs --unmount {}, and mount it again",
                    mountpoint(), workers_.errors_only(), mountpoint());
    }
    NotifyServiceManager(StatusLine());
  }
  if (!starting()) return;
  ready_ = true;
  if (!options_.foreground) LeaveTerminal(mountpoint());
  spdlog::info("{} is mounted at {}", options_.source, mountpoint());
  NotifyServiceManager("READY=1\n" + StatusLine());
  if (Report(kExitDone, "")) return;
  // The caller has reported a failure, or was killed: nobody would unmount this mount.
  exit_code_ = kExitSystem;
  mount_.Undo();
  EndWorker();
}

void Keeper::OnWorkerFailed(const Message& message) {
  if (ready_) {
    workers_.NoteFailure(message.text);
  } else {
    FailStart(static_cast<int>(message.numbers[0]), message.text);
  }
}

void Keeper::OnMessage(Message& message) {
  switch (message.kind) {
    case Message::Kind::kOpened:
      if (!failed_ && !ending_) OnOpened(message);
      break;
    case Message::Kind::kReady:
      OnReady();
      break;
    case Message::Kind::kFailed:
      OnWorkerFailed(message);
      break;
    default:
      break;
  }
}

void Keeper::NotifyServiceManager(const std::string& state) const {
  if (options_.foreground) sd_notify(/*unset_environment=*/0, state.c_str());
}

void Keeper::SetLevel(std::string_view level) {
  SetLogLevel(level);
  workers_.Tell({Message::Kind::kLogLevel, {}, std::string(level)});
}

void Keeper::ChangeLogLevel(const signalfd_siginfo& signal) {
  size_t chosen = 0;  // in kLogLevels
  if (signal.ssi_code == SI_QUEUE) {
    if (signal.ssi_int < 1 || signal.ssi_int > static_cast<int>(kLogLevels.size())) {
      spdlog::warn("signal {}: expected a log level from 1 to {}, found {}", signal.ssi_signo,
                   kLogLevels.size(), signal.ssi_int);
      return;
    }
    chosen = static_cast<size_t>(signal.ssi_int) - 1;
  } else {
    // After debug, back to info.
    const auto level = std::ranges::find(kLogLevels, LogLevel());
    chosen = static_cast<size_t>(level - kLogLevels.begin()) + 1;
    if (chosen >= kLogLevels.size()) chosen = 2;
  }
  SetLevel(kLogLevels[chosen]);
  spdlog::info("{}: the log level is {}", mountpoint(), kLogLevels[chosen]);
}

void Keeper::Reload() {
  NotifyServiceManager(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", SteadyNowNs() / 1000));
  auto again = ReadAgain(options_);
  if (!again) {
    spdlog::error("{}: not reloaded: {}", mountpoint(), again.error().message);
  } else {
    auto ignored = ChangedNames(options_.config, again->config);
    std::erase_if(ignored, IsLive);
    SetLevel(again->log_level);
    options_.index_cache = again->index_cache;
    options_.cache = again->cache;
    workers_.Tell({Message::Kind::kCacheSizes, {again->index_cache, again->cache}});
    spdlog::info("{}: reloaded: log_level {}, index_cache {} and cache {} bytes", mountpoint(),
                 again->log_level, again->index_cache, again->cache);
    if (!ignored.empty()) {
      spdlog::warn("{}: {} changed, which needs a new mount", mountpoint(),
                   fmt::join(ignored, ", "));
    }
    options_.config = std::move(again->config);
  }
  NotifyServiceManager("READY=1\n" + StatusLine());
}

void Keeper::OnSignal() {
  signalfd_siginfo signal = {};
  if (read(signals_.get(), &signal, sizeof signal) != sizeof signal) return;
  const bool ends = signal.ssi_signo == SIGINT || signal.ssi_signo == SIGTERM;
  if (ends) OnEndingSignal(signal.ssi_signo);
  if (ends || !ready_ || ending_) return;
  if (signal.ssi_signo == SIGHUP) Reload();
  if (signal.ssi_signo == SIGUSR2) ChangeLogLevel(signal);
}

void Keeper::OnEndingSignal(uint32_t number) {
  if (starting()) return FailStart(kExitSystem, "interrupted before the mount was ready");
  if (ending_) return workers_.Kill();
  // A service manager also sends signals because the worker was killed: not a request to unmount.
  // The mount dies with its last holders.
  const bool is_news = workers_.WasJustKilled();
  if (!asked_before_ && (is_news || workers_.IsDying())) {
    asked_before_ = gives_up_ = true;
    workers_.CancelPlan();
    if (workers_.last_end().empty() || !is_news) workers_.NoteKill();
    return workers_.Kill();
  }
  const auto unmounted = mount_.Unmount(/*detach=*/asked_before_);
  if (!unmounted && !asked_before_) {
    asked_before_ = true;
    spdlog::warn("signal {}: {}: {}; a second signal detaches it", number, mountpoint(),
                 unmounted.error().message);
    return;
  }
  if (!unmounted) {
    spdlog::error("{}: cannot be detached: {}", mountpoint(), unmounted.error().message);
  }
  spdlog::info("signal {}: {} is {}", number, mountpoint(),
               asked_before_ ? "detached" : "unmounted");
  // The kernel sends no FUSE_DESTROY while another namespace or an open file holds the mount.
  EndWorker();
}

void Keeper::Watch() {
  workers_.ReapLeftBehind();
  if (!workers_.is_there()) {
    if (workers_.is_planned() && !mount_.IsConnected()) workers_.CancelPlan();
    return;
  }
  // A thread of a killed worker may wait in the kernel for an answer of the worker itself (while it
  // passes a file through to a reader). It ends once another worker answers, or the connection is
  // aborted.
  if (!mount_.is_made() || !workers_.IsPastServing()) return;
  if (mount_.resends() && CanReplace()) {
    workers_.LeaveBehind();
    Replace();
  } else if (workers_.IsDying()) {
    mount_.Abort();
  }
}

std::string Keeper::UncleanEnd() const {
  if (!mount_.IsOnTop()) return "";
  // To the worker, an aborted connection looks like an unmount.
  return workers_.last_end().empty() ? "the connection was aborted"
                                     : "the worker " + workers_.last_end();
}

bool Keeper::OnWorkerEnd() {
  const Workers::End end = workers_.Reap();
  if (starting() && end.by_signal) {
    EndStart(kExitSystem, fmt::format("ended by signal {} before the mount was ready", end.number));
  } else if (starting() && end.number == kExitDone) {
    EndStart(kExitMountFailed, fmt::format("{} was unmounted before it was ready", mountpoint()));
  } else if (starting()) {
    EndStart(kExitMountFailed,
             fmt::format("{} was mounted, but the kernel closed the connection", mountpoint()));
  }
  if (!CanReplace()) return false;
  Replace();
  return true;
}

int Keeper::Finish() {
  const std::string unclean = ready_ && !ending_ ? UncleanEnd() : "";
  if (workers_.has_left_behind()) mount_.Abort();
  if (!unclean.empty()) {
    exit_code_ = kExitSystem;
    const std::string line = fmt::format(
        "{}: {}; the mount stays, dead, so that its files do not seem to be absent: mount "
        "there again, or end the mount with zarrfs --unmount {}",
        mountpoint(), unclean, mountpoint());
    spdlog::error("{}", line);
    NotifyServiceManager(fmt::format("STATUS={}", OneLine(line)));
    return exit_code_;
  }
  if (ready_ && !ending_) NotifyServiceManager("STOPPING=1\nSTATUS=unmounted");
  mount_.ClearCovered();
  if (ready_) spdlog::info("{}: ended", mountpoint());
  return exit_code_;
}

int Keeper::KillLateWorker() {
  if (!ending_ || was_killed_) return kWatchMs;
  const auto left = worker_limit_ - Clock::now();
  if (left > left.zero()) return static_cast<int>(left / std::chrono::milliseconds(1)) + 1;
  was_killed_ = true;
  spdlog::warn("{}: ended with pending requests", mountpoint());
  workers_.Kill();
  return kWatchMs;
}

int Keeper::Run() {
  if (const auto started = Start(); !started) {
    EndStart(kExitSystem, started.error().message);
    return exit_code_;
  }
  std::array<pollfd, 3> wait = {pollfd{signals_.get(), POLLIN, 0}, pollfd{-1, POLLIN, 0},
                                pollfd{report_.fd(), 0, 0}};
  while (workers_.is_there() || (workers_.is_planned() && !ending_)) {
    workers_.StartIfDue();
    wait[1].fd = workers_.is_there() ? workers_.channel().fd() : -1;
    const int events = poll(wait.data(), wait.size(), KillLateWorker());
    if (events == 0) Watch();
    if (events <= 0) continue;
    if (wait[0].revents != 0) OnSignal();
    if (wait[2].revents != 0) {  // the waiting process is gone
      if (starting()) FailStart(kExitSystem, "the process that waited for the mount is gone");
      wait[2].fd = -1;
    }
    if (wait[1].revents == 0 || !workers_.is_there()) continue;
    auto message = workers_.channel().Receive();
    if (message) {
      OnMessage(*message);
    } else if (!OnWorkerEnd()) {
      break;
    }
  }
  return Finish();
}

}  // namespace

int RunKeeper(const MountOptions& options, const MountPoint& mountpoint, Channel report) {
  return Keeper(options, mountpoint, std::move(report)).Run();
}

}  // namespace zarrfs
