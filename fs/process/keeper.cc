#include "fs/process/keeper.h"

#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/mount/own_mount.h"
#include "fs/mount/session.h"
#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/process/late_worker.h"
#include "fs/process/live_settings.h"
#include "fs/process/privileges.h"
#include "fs/process/service_manager.h"
#include "fs/process/signals.h"
#include "fs/process/start_report.h"
#include "fs/process/unmounting.h"
#include "fs/process/upgrade.h"
#include "fs/process/workers.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/os/open_process.h"

namespace zarrfs {
namespace {

using Clock = std::chrono::steady_clock;

// How long a killed worker may take to exit before the mount is aborted. The worker may have
// gigabytes of memory to free.
constexpr auto kDyingLimit = std::chrono::seconds(3);
// The interval of Watch(), which looks for workers that cannot end, in milliseconds.
constexpr int kWatchMs = 1000;
// The interval at which the keeper checks whether a worker whose channel has ended can be reaped,
// in milliseconds.
constexpr int kReapMs = 10;

class Keeper {
 public:
  Keeper(const MountOptions& options, const MountPoint& mountpoint, Channel report,
         Descriptor program)
      : options_(options),
        config_in_force_(options.config),
        mount_(mountpoint, /*outlives_workers=*/!WhyNoIoUring(options).empty()),
        start_(std::move(report)) {
    workers_.set_program(std::move(program));
  }

  int Run();

 private:
  // Starts the first worker.
  Result<void> Start();
  // Reports a failed start. Does nothing if the result of the start was already reported.
  void EndStart(int code, std::string_view line);
  // Reports a failed start and ends the worker.
  void FailStart(int code, std::string_view line) {
    EndStart(code, line);
    EndWorker();
  }
  bool starting() const { return start_.is_pending(); }
  bool ready() const { return start_.is_ready(); }

  std::string StatusLine() const {
    const std::string& errors = workers_.errors_only();
    return errors.empty() ? fmt::format("serving {} on {}", options_.source.text(), mountpoint())
                          : fmt::format("{} serves {}", mountpoint(), errors);
  }

  void OnSignal();
  void OnEndingSignal(uint32_t number);
  void OnUnmounted(const std::string& why, bool detached);
  // Opens a pidfd of the process that the option `until` names.
  Result<void> WatchProcess();
  // Ends the mount, because the process that the option `until` names has ended.
  void OnProcessEnd();
  Result<void> Reload(std::string_view more_settings);

  void OnMessage(Message& message);
  void OnOpened(Message& message);
  void OnReady();
  void OnWorkerFailed(const Message& message);
  // Ends the worker, and the mount with it.
  void EndWorker();
  // Asks the worker to exit, or kills it immediately if it cannot handle the request (`can` is
  // false). If it does not exit when asked, KillLateWorker() kills it.
  void AskWorkerToEnd(bool can);
  // Kills or abandons a worker that should have exited. Returns how long Run() may wait for events,
  // in milliseconds.
  int KillLateWorker();
  void Watch();  // periodic checks, run every kWatchMs to 2 * kWatchMs
  void EndWithConnection();
  // Handles the end of a worker. True if another worker takes over.
  bool OnWorkerEnd(const Workers::End& end);
  void StartNext();
  bool CanReplace() const {
    return mount_.outlives_workers() && ready() && !ending_ && !gives_up_ && mount_.IsConnected();
  }
  void Replace() { service_manager_.ShowStatus(workers_.Replace()); }
  void OnUpgrade(Upgrade::Step step);
  // Makes the next workers run the former program, if the worker of a newer program cannot serve.
  // True if an upgrade was under way.
  bool GoBack(std::string_view why);
  StartMessage State() const;
  // Called when no worker exists and none will be started. Returns the exit code.
  int Finish();
  // Returns why the mount is dead; "" after a clean end.
  std::string UncleanEnd() const;
  const std::string& mountpoint() const { return mount_.path(); }

  MountOptions options_;  // the options as last reloaded, including their `config`
  // The settings of the configuration file with which the mount was made.
  const std::vector<std::string> config_in_force_;
  const ServiceManager service_manager_{options_.foreground};
  OwnMount mount_;
  Unmounting unmounting_{mount_, options_.foreground};
  StartReport start_;
  Descriptor signals_;
  Descriptor until_;  // a pidfd of the process of the option `until`; empty once it ended
  Upgrade upgrade_;
  Workers workers_{options_, config_in_force_, mount_.path(), [this] {
                     signals_.reset();
                     until_.reset();
                     start_.Close();
                     mount_.Close();
                     upgrade_ = Upgrade();
                   }};

  int exit_code_ = kExitDone;
  bool ending_ = false;
  // True if the worker was asked to end so that a worker of another program can replace it.
  bool replaces_ = false;
  bool gives_up_ = false;  // true if the mount ends with the worker
  LateWorker late_;        // kills a worker that does not exit when asked
  LateWorker gone_;        // kills a worker whose connection to the kernel has ended
  std::optional<Clock::time_point> dying_since_;  // when IsPastServing() became true
  Clock::time_point watched_at_ = Clock::now();
};

Result<void> Keeper::Start() {
  auto taken = TakeSignals();
  if (!taken) return Fail(taken);
  signals_ = *std::move(taken);
  // Hides this memory from the user's other processes: the environment has keys for the fetcher.
  prctl(PR_SET_DUMPABLE, 0);
  // Needed even in the foreground, because the working folder may be below the mount point.
  if (chdir("/") != 0) spdlog::debug("chdir /: {}", ErrnoText(errno));
  if (auto watched = WatchProcess(); !watched) return watched;
  if (auto started = workers_.StartFetcher(); !started) return started;
  if (mount_.outlives_workers() || !options_.ids.empty()) {
    if (auto made = workers_.MakeJournal(); !made) return made;
  }
  if (auto started = workers_.Start(/*takes_over=*/false); !started) return started;
  KeepMountPrivileges();
  return {};
}

void Keeper::EndStart(int code, std::string_view line) {
  if (!starting()) return;
  exit_code_ = code;
  mount_.Undo();
  start_.Fail(code, line);
  service_manager_.ShowStatus(line);
}

void Keeper::EndWorker() {
  if (ending_) return;
  ending_ = true;
  if (ready()) service_manager_.Stopping("ending");
  // A worker whose start failed has nothing to shut down, and neither has a caretaker.
  AskWorkerToEnd(ready() && workers_.errors_only().empty());
}

void Keeper::AskWorkerToEnd(bool can) {
  late_ = {};
  static_cast<void>(late_.Observe(true, Clock::now()));
  if (!can || !workers_.Tell({Message::Kind::kEnd})) workers_.Kill();
}

void Keeper::OnOpened(Message& message) {
  if (starting()) {
    if (const auto made = mount_.Make(options_); !made) {
      return FailStart(kExitMountFailed, made.error().message);
    }
    workers_.set_source(std::move(message.passed));
  }
  if (const auto given = mount_.GiveTo(workers_.channel(), options_); !given) {
    FailStart(kExitMountFailed, given.error().message);
  }
}

void Keeper::OnReady() {
  if (ready() && !ending_ && !replaces_) {
    if (workers_.errors_only().empty()) {
      spdlog::info("{}: another worker serves (zarrfs {})", mountpoint(), workers_.version());
    } else {
      spdlog::error("{} serves {}; end it with zarrfs --unmount {}, and mount it again",
                    mountpoint(), workers_.errors_only(), mountpoint());
    }
    service_manager_.ShowStatus(StatusLine());
    workers_.Keep();
    upgrade_.ReportServed({});
  }
  if (!starting()) return;
  if (!options_.foreground) LeaveTerminal(mountpoint());
  spdlog::info("{} is mounted at {}", options_.source.text(), mountpoint());
  service_manager_.Ready(StatusLine());
  if (start_.Succeed()) return;
  // The caller has reported a failure or was killed, so no user would unmount this mount.
  exit_code_ = kExitSystem;
  mount_.Undo();
  EndWorker();
}

void Keeper::OnWorkerFailed(const Message& message) {
  if (replaces_) return;  // the worker was already asked to end
  if (ready()) {
    workers_.NoteFailure(message.text);
    static_cast<void>(GoBack(message.text));
  } else {
    FailStart(static_cast<int>(message.numbers[0]), message.text);
  }
}

bool Keeper::GoBack(std::string_view why) {
  if (!upgrade_.is_taken()) return false;
  workers_.GoBack();
  upgrade_.ReportServed(Fail(ErrorCode::kIo, "{}", why));
  return true;
}

void Keeper::OnMessage(Message& message) {
  if (message.kind == Message::Kind::kStarted) return;
  if (message.kind == Message::Kind::kFailed) {
    OnWorkerFailed(message);
  } else if (message.kind == Message::Kind::kReady) {
    OnReady();
  } else if (!start_.has_failed() && !ending_) {
    OnOpened(message);
  }
}

Result<void> Keeper::Reload(std::string_view more_settings) {
  service_manager_.Reloading();
  auto reloaded = ReloadSettings(options_, more_settings, mountpoint(), workers_);
  service_manager_.Ready(StatusLine());
  return reloaded;
}

void Keeper::OnSignal() {
  signalfd_siginfo signal = {};
  if (read(signals_.get(), &signal, sizeof signal) != sizeof signal) return;
  const bool ends = signal.ssi_signo == SIGINT || signal.ssi_signo == SIGTERM;
  if (ends) OnEndingSignal(signal.ssi_signo);
  if (ends || !ready() || ending_) return;
  if (signal.ssi_signo == SIGHUP) static_cast<void>(Reload(""));  // Reload() logs its result
  if (signal.ssi_signo == SIGUSR1) upgrade_.OnSignal(signal);
  if (signal.ssi_signo == SIGUSR2) ChangeLogLevel(signal, mountpoint(), workers_);
}

void Keeper::OnEndingSignal(uint32_t number) {
  if (starting()) return FailStart(kExitSystem, "interrupted before the mount was ready");
  if (ending_) return workers_.Kill();
  // A service manager also sends SIGTERM after the kernel has killed the worker. That signal is no
  // request to unmount: the keeper ends without another worker, and leaves a dead mount.
  const bool is_news = workers_.WasJustKilled();
  if (!unmounting_.was_asked() && !EndingIsAlwaysAsked() && (is_news || workers_.IsDying())) {
    unmounting_.set_was_asked();
    gives_up_ = true;
    workers_.CancelPlan();
    if (workers_.last_end().empty() || !is_news) workers_.NoteKill();
    return workers_.Kill();
  }
  if (!unmounting_.OnSignal(number)) return;
  OnUnmounted(fmt::format("signal {}", number), unmounting_.is_detached());
}

void Keeper::OnUnmounted(const std::string& why, bool detached) {
  spdlog::info("{}: {} is {}", why, mountpoint(),
               mount_.is_given() ? "no longer served"
               : detached        ? "detached"
                                 : "unmounted");
  // The kernel sends no FUSE_DESTROY while another mount namespace or an open file holds the mount.
  EndWorker();
}

Result<void> Keeper::WatchProcess() {
  if (options_.until == 0) return {};
  until_ = OpenProcess(options_.until);
  if (until_) return {};
  return Fail(ErrorCode::kInvalidArgument, "until={}: {}", options_.until, ErrnoText(errno));
}

void Keeper::OnProcessEnd() {
  until_.reset();
  const std::string why = fmt::format("process {} has ended", options_.until);
  if (starting()) return FailStart(kExitSystem, why + " before the mount was ready");
  if (ending_) return;
  if (const auto detached = mount_.Unmount(/*detach=*/true); !detached) {
    spdlog::error("{}: {}: cannot be detached: {}", why, mountpoint(), detached.error().message);
  }
  OnUnmounted(why, /*detached=*/true);
}

void Keeper::EndWithConnection() {
  const bool is_gone = ready() && !ending_ && workers_.is_there() && mount_.outlives_workers() &&
                       !mount_.IsConnected();
  const auto step = gone_.Observe(is_gone, Clock::now());
  if (step == LateWorker::Step::kLeaveBehind) workers_.LeaveBehind();
  if (step != LateWorker::Step::kKill) return;
  spdlog::warn("{}: the mount is gone, but its worker still runs; killing it", mountpoint());
  workers_.Kill();
}

void Keeper::Watch() {
  watched_at_ = Clock::now();
  if (!ending_ && unmounting_.TryAgain()) {
    OnUnmounted(fmt::format("signal {}", SIGTERM), unmounting_.is_detached());
  }
  workers_.ReapLeftBehind();
  if (workers_.WatchBegin()) OnWorkerEnd({true, SIGKILL});
  EndWithConnection();
  if (!workers_.is_there()) {
    if (workers_.is_planned() && !mount_.IsConnected()) workers_.CancelPlan();
    return;
  }
  // A killed worker cannot end while one of its threads, which pushes a file into the page cache,
  // waits in the kernel for a reply of the same worker. The wait ends when another worker replies,
  // or when the connection is aborted.
  if (!mount_.is_made() || !workers_.IsPastServing()) return dying_since_.reset();
  if (!dying_since_) {  // the worker may be about to end
    dying_since_ = Clock::now();
  } else if (mount_.resends() && CanReplace()) {
    workers_.LeaveBehind();
    StartNext();
  } else if (workers_.IsDying() && Clock::now() - *dying_since_ > kDyingLimit) {
    mount_.Abort();
  }
}

std::string Keeper::UncleanEnd() const {
  // When a given mount is unmounted, its worker ends normally.
  if (mount_.is_given() ? workers_.last_end().empty() : !mount_.IsOnTop()) return "";
  // An aborted connection looks like an unmount to the worker.
  return workers_.last_end().empty() ? "the connection was aborted"
                                     : "the worker " + workers_.last_end();
}

bool Keeper::OnWorkerEnd(const Workers::End& end) {
  dying_since_.reset();
  const std::string& how = workers_.last_end();
  const bool went_back = GoBack("its worker " + (how.empty() ? "ended" : how));
  if (!start_.has_failed() && !ending_ && !gives_up_ && !went_back && workers_.StartForked())
    return true;
  if (starting() && end.by_signal) {
    EndStart(
        kExitSystem,
        fmt::format("the worker was ended by signal {} before the mount was ready", end.number));
  } else if (starting() && end.number == kExitDone) {
    EndStart(kExitMountFailed, fmt::format("{} was unmounted before it was ready", mountpoint()));
  } else if (starting()) {
    EndStart(kExitMountFailed,
             fmt::format("{} was mounted, but the kernel closed the connection", mountpoint()));
  }
  if (!CanReplace()) return false;
  StartNext();
  return true;
}

void Keeper::StartNext() {
  if (!std::exchange(replaces_, false)) return Replace();
  workers_.StartOf(upgrade_.TakeProgram());
}

StartMessage Keeper::State() const {
  StartMessage state = WithOptions(options_, config_in_force_);
  state.format = options_.start_format.value_or(StartMessage::kFormat);
  mount_.AddTo(state, options_);
  workers_.AddTo(state);
  return state;
}

void Keeper::OnUpgrade(Upgrade::Step step) {
  if (step == Upgrade::Step::kNone) return;
  if (step == Upgrade::Step::kSet) return upgrade_.ReportSet(Reload(upgrade_.settings()));
  if (step == Upgrade::Step::kTell) return upgrade_.ReportState(mount_.device(), workers_.Alarm());
  if (!mount_.outlives_workers()) return upgrade_.Refuse("mounts with io_uring cannot be upgraded");
  if (unmounting_.was_asked()) return upgrade_.Refuse("the mount is being unmounted");
  if (replaces_) return upgrade_.Refuse("another upgrade is under way");
  if (!CanReplace() || !workers_.is_there() || workers_.is_cut_off()) {
    return upgrade_.Refuse("the mount has no working process now; try again in a few seconds");
  }
  if (step == Upgrade::Step::kTry) return upgrade_.Try(State());
  spdlog::info("{}: upgrading: the next worker runs the new program", mountpoint());
  replaces_ = true;
  AskWorkerToEnd(workers_.errors_only().empty());  // a caretaker ignores messages
}

int Keeper::Finish() {
  workers_.SaveIds();
  const std::string unclean = ready() && !ending_ ? UncleanEnd() : "";
  if (workers_.has_left_behind()) mount_.Abort();
  if (!unclean.empty()) {
    exit_code_ = kExitSystem;
    const std::string what_next =
        mount_.is_given()
            ? "the program that made it has to unmount it"
            : fmt::format("mount there again, or end the mount with zarrfs --unmount {}",
                          mountpoint());
    const std::string line =
        fmt::format("{}: {}; the mount stays, dead, so that its files do not seem to be absent: {}",
                    mountpoint(), unclean, what_next);
    spdlog::error("{}", line);
    service_manager_.ShowStatus(line);
    return exit_code_;
  }
  if (ready() && !ending_) service_manager_.Stopping("unmounted");
  mount_.ClearCovered();
  if (ready()) spdlog::info("{}: ended", mountpoint());
  return exit_code_;
}

int Keeper::KillLateWorker() {
  const auto now = Clock::now();
  const auto step = late_.Observe(ending_ || replaces_, now);
  if (step == LateWorker::Step::kLeaveBehind) {
    if (!workers_.is_there()) return 0;
    spdlog::warn("{}: the worker is left behind: it does not exit, the store may not answer",
                 mountpoint());
    workers_.LeaveBehind();
    if (replaces_ && CanReplace()) StartNext();
    return 0;
  }
  if (step == LateWorker::Step::kKill) {
    spdlog::warn("{}: {} with pending requests", mountpoint(),
                 ending_ ? "ended" : "the old worker is killed");
    workers_.Kill();
  }
  const auto left = late_.left(now);
  return left ? static_cast<int>(*left / std::chrono::milliseconds(1)) + 1 : kWatchMs;
}

int Keeper::Run() {
  if (const auto started = Start(); !started) {
    EndStart(kExitSystem, started.error().message);
    workers_.SaveIds();
    return exit_code_;
  }
  std::array<pollfd, 7> wait = {
      {{signals_.get(), POLLIN, 0}, {}, {start_.fd(), 0, 0}, {}, {}, {}, {}}};
  while (workers_.is_there() || (workers_.is_planned() && !ending_)) {
    workers_.Attend();
    int limit_ms = KillLateWorker();
    if (const auto end = workers_.TryReap()) {
      if (OnWorkerEnd(*end)) continue;
      break;
    }
    if (workers_.is_cut_off()) limit_ms = std::min(limit_ms, kReapMs);
    wait[1] = {workers_.fd(), POLLIN, 0};
    wait[3] = {upgrade_.fd(), POLLIN, 0};
    wait[4] = {workers_.fetcher_fd(), POLLIN, 0};
    wait[5] = {until_.get(), POLLIN, 0};
    wait[6] = {workers_.log_fd(), POLLIN, 0};
    const int events = poll(wait.data(), wait.size(), limit_ms);
    // Needed because messages of a worker may keep poll() from timing out.
    const bool is_due = Clock::now() - watched_at_ > 2 * std::chrono::milliseconds(kWatchMs);
    if ((events == 0 || is_due) && !workers_.ends_soon()) Watch();
    OnUpgrade(upgrade_.Advance());
    if (events <= 0) continue;
    if (wait[0].revents != 0) OnSignal();
    if (wait[5].revents != 0) OnProcessEnd();
    if (wait[2].revents != 0) {  // the process that waits for the start has ended
      if (starting()) FailStart(kExitSystem, "the process that waited for the mount is gone");
      wait[2].fd = -1;
    }
    if (wait[1].revents == 0) continue;
    if (auto message = workers_.Receive()) OnMessage(*message);
  }
  return Finish();
}

}  // namespace

int RunKeeper(const MountOptions& options, const MountPoint& mountpoint, Channel report,
              Descriptor program) {
  return Keeper(options, mountpoint, std::move(report), std::move(program)).Run();
}

}  // namespace zarrfs
