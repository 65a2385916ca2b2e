#include "fs/daemon/keeper.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/daemon/dead_mount.h"
#include "fs/daemon/exit_code.h"
#include "fs/daemon/log.h"
#include "fs/daemon/mount_control.h"
#include "fs/daemon/privileges.h"
#include "fs/daemon/session.h"
#include "fs/daemon/settings.h"
#include "fs/daemon/worker.h"
#include "fs/fuse/connection.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

using Clock = std::chrono::steady_clock;

// How long the worker may take to end once its mount is gone.
constexpr auto kWorkerLimit = std::chrono::seconds(3);
// How often the keeper checks for a killed worker that cannot end.
constexpr int kWatchMs = 1000;
// A worker that ends is replaced, but not more often than so in kEndsPeriod.
constexpr size_t kMaxEnds = 5;
constexpr auto kEndsPeriod = std::chrono::seconds(60);
// How long after one that could not open the store the next one begins.
constexpr auto kPauseAfterFailure = std::chrono::seconds(2);
// A service manager that ends everything because the kernel killed the worker does so by then.
constexpr auto kKillIsNews = std::chrono::seconds(2);

std::string ReadProc(pid_t pid, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name));
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether the main thread of a child has ended but the child itself has not been waited for.
bool HasDeadMainThread(pid_t pid) {
  const std::string text = ReadProc(pid, "stat");
  // "42 (any name) Z ..."
  const size_t end_of_name = text.rfind(") ");
  return end_of_name != std::string::npos && text.compare(end_of_name + 2, 1, "Z") == 0;
}

// Whether a child serves nobody any more: it was killed, or it crashed and the kernel waits for all
// of its threads, or writes its core.
bool IsPastServing(pid_t pid) {
  return HasDeadMainThread(pid) ||
         ReadProc(pid, "status").find("\nCoreDumping:\t1") != std::string::npos;
}

class Keeper {
 public:
  Keeper(const MountOptions& options, const MountPoint& mountpoint, Channel report)
      : options_(options),
        mountpoint_(mountpoint.path),
        dead_(mountpoint.dead),
        report_(std::move(report)) {}

  int Run();

 private:
  // Sets up signals and forks the worker.
  Result<void> Start();
  Result<void> StartWorker();
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
    if (!errors_only_.empty()) return OneLine("STATUS=" + mountpoint_ + " serves " + errors_only_);
    return OneLine(fmt::format("STATUS=serving {} on {}", options_.source, mountpoint_));
  }

  void OnSignal(const signalfd_siginfo& signal);
  void OnEndingSignal(uint32_t number);
  void ChangeLogLevel(const signalfd_siginfo& signal);
  void SetLevel(std::string_view level);
  void Reload();
  // Without effect while there is no worker.
  bool Tell(const Message& message, int passed = -1) const {
    return worker_ && worker_->Send(message, passed);
  }
  void OnMessage(Message& message);
  void OnOpened(Message& message);
  // Hands the connection to the worker.
  Result<void> HandOver();
  void OnReady();

  // These return the FUSE device.
  Result<Descriptor> Mount();
  Result<Descriptor> MountByLibfuse();
  Result<Descriptor> MountInPlaceOfDead();
  // While the connection lives, no other mount has its number.
  bool IsOurs(const Mounted& mounted) const {
    return device_ != 0 && mounted.device == device_ && mounted.id == mount_id_ &&
           (IsConnected(connection_) || UniqueMountId(mountpoint_) == unique_mount_id_);
  }
  // Unmounts the mount on top at the mount point if it is ours; succeeds if there is none.
  Result<void> UnmountOurs(bool detach) const;
  // Asks the worker to end, and kills it after kWorkerLimit.
  void EndWorker();
  // Every kWatchMs.
  void Watch();
  // The worker has closed its end of the channel. True if another one serves on.
  bool OnWorkerEnd();
  bool CanReplace() const {
    return restarts_ && ready_ && !ending_ && !gives_up_ && IsConnected(connection_);
  }
  void Replace();
  // There is no worker, and there will be none. Returns the exit code.
  int Finish();
  // Why the mount is dead; "" after a clean end.
  std::string UncleanEnd() const;
  // Detaches the dead mount that ours was mounted over.
  void ClearCoveredMount() const;

  MountOptions options_;  // `config` as last read
  const std::string& mountpoint_;
  const std::optional<Mounted> dead_;  // the mount to replace
  Channel report_;
  Descriptor signals_;
  std::optional<Channel> worker_;
  pid_t worker_pid_ = -1;  // -1: there is none
  std::string last_end_;   // how the last one did: "was ended by signal 9"

  // For the next worker. Without a connection there will be none: the mount dies with the worker.
  const bool restarts_ = !WhyNoIoUring(options_).empty();
  Descriptor connection_;               // keeps the mount alive
  Descriptor shared_;                   // of the same connection: all workers read from this one
  std::string init_;                    // FUSE_INIT
  bool resends_ = false;                // what a worker has taken can be given to the next one
  Descriptor ids_;                      // of the IdJournal
  Descriptor source_;                   // WorkerStart::source
  std::deque<Clock::time_point> ends_;  // of workers, in the last kEndsPeriod
  std::optional<Clock::time_point> start_at_;  // the next worker, while there is none
  std::string errors_only_;  // why a caretaker answers from now on; "": it does not
  std::optional<Clock::time_point> killed_at_;  // a worker, last
  std::vector<pid_t> stuck_;                    // killed workers that cannot end yet

  bool ready_ = false;
  bool failed_ = false;
  int exit_code_ = kExitDone;
  bool mounted_ = false;
  dev_t device_before_ = 0;       // at the mount point, before mounting
  dev_t device_ = 0;              // of our mount; 0 if it is not in the table
  uint64_t mount_id_ = 0;         // likewise
  uint64_t unique_mount_id_ = 0;  // see UniqueMountId()
  bool replaced_dead_ = false;
  bool covers_dead_ = false;   // the dead mount lies below ours
  bool asked_before_ = false;  // an earlier signal found the mount busy
  bool ending_ = false;
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
  if (restarts_) ids_.reset(memfd_create("zarrfs-ids", MFD_CLOEXEC));
  if (!signals_ || (restarts_ && !ids_)) {
    return Fail(ErrorCode::kIo, "no descriptors: {}", ErrnoText(errno));
  }
  // Also in the foreground: the working folder may lie below the mount point.
  if (chdir("/") != 0) spdlog::debug("chdir /: {}", ErrnoText(errno));
  if (auto started = StartWorker(); !started) return started;
  KeepMountPrivileges();
  return {};
}

Result<void> Keeper::StartWorker() {
  auto channel = Channel::MakePair();
  if (!channel) return Fail(ErrorCode::kIo, "no descriptors: {}", ErrnoText(errno));
  const pid_t keeper = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Fail(ErrorCode::kIo, "no process: {}", ErrnoText(errno));
  if (pid == 0) {
    signals_.reset();
    report_.Close();
    channel->first.Close();
    connection_.reset();
    shared_.reset();
    WorkerStart start{.keeper = std::move(channel->second),
                      .keeper_pid = keeper,
                      .takes_over = ready_,
                      .ids = std::move(ids_),
                      .source = std::move(source_)};
    if (errors_only_.empty()) RunWorker(options_, mountpoint_, std::move(start));
    RunCaretaker(options_, std::move(start),
                 fmt::format("pid: {}\nsource: {}\nserves: {}\n", keeper, OneLine(options_.source),
                             OneLine(errors_only_)));
  }
  worker_pid_ = pid;
  worker_.emplace(std::move(channel->first));
  start_at_.reset();
  return {};
}

void Keeper::EndStart(int code, std::string_view line) {
  if (!starting()) return;
  failed_ = true;
  exit_code_ = code;
  // A mount that replaced a dead one stays: it is dead, too, once the worker has ended.
  if (!replaced_dead_) static_cast<void>(UnmountOurs(/*detach=*/true));
  Report(code, line);
  NotifyServiceManager(fmt::format("STATUS={}", OneLine(line)));
}

bool Keeper::Report(int code, std::string_view line) const {
  const auto kind = code == kExitDone ? Message::Kind::kReady : Message::Kind::kFailed;
  if (report_.fd() >= 0) return report_.Send({kind, {static_cast<uint64_t>(code)}, OneLine(line)});
  if (code != kExitDone) PrintError(line);
  return true;
}

Result<Descriptor> Keeper::Mount() {
  auto device = dead_ ? MountInPlaceOfDead() : MountByLibfuse();
  if (!device) return device;
  const auto entry = FindMount(mountpoint_);
  if (entry && entry->type == kMountType) {
    device_ = entry->device;
    mount_id_ = entry->id;
    unique_mount_id_ = UniqueMountId(mountpoint_);
  }
  return device;
}

Result<Descriptor> Keeper::MountInPlaceOfDead() {
  auto replacement = ReplaceDeadMount(options_, *dead_);
  if (replacement) {
    mounted_ = true;
    replaced_dead_ = true;
    covers_dead_ = replacement->covers_dead;
    device_before_ = replacement->dead;
    return std::move(replacement->device);
  }
  if (replacement.error().code != ErrorCode::kNotFound) {
    if (geteuid() == 0) {
      spdlog::warn("{}: the dead mount cannot be replaced in one step: {}", mountpoint_,
                   replacement.error().message);
    }
    // From here until the mount the bare folder is visible: keep that short.
    if (const auto cleared = ClearDeadMounts(mountpoint_); !cleared) return Fail(cleared);
  }
  if (const auto there = FindMount(mountpoint_); there && there->type == kMountType) {
    return Fail(ErrorCode::kIo, "{} was mounted by another zarrfs meanwhile", mountpoint_);
  }
  return MountByLibfuse();
}

Result<Descriptor> Keeper::MountByLibfuse() {
  struct stat before = {};
  if (stat(mountpoint_.c_str(), &before) != 0) {
    return Fail(FromErrno(errno), "mount point {} cannot be used: {}", mountpoint_,
                ErrnoText(errno));
  }
  device_before_ = before.st_dev;

  MountMessages messages;
  fuse_session* session = NewSession(options_, fuse_lowlevel_ops{}, nullptr);
  mounted_ = session != nullptr && fuse_session_mount(session, mountpoint_.c_str()) == 0;
  Descriptor device(mounted_ ? fcntl(fuse_session_fd(session), F_DUPFD_CLOEXEC, 0) : -1);
  const std::string reason = messages.Take();
  if (!mounted_) {
    if (session != nullptr) fuse_session_destroy(session);
    return Fail(ErrorCode::kIo, "{} cannot be mounted: {}", mountpoint_,
                reason.empty() ? "libfuse gave no reason" : reason);
  }
  // libfuse frees the path of a mount point only when it unmounts: the session stays, without its
  // device. (Volatile keeps the compiler from removing the pointer, which would make it a leak.)
  [[maybe_unused]] static fuse_session* volatile kept;
  kept = session;
  close(fuse_session_fd(session));
  if (!reason.empty()) spdlog::warn("mounting: {}", reason);
  if (!device) return Fail(ErrorCode::kTooManyOpenFiles, "no descriptors are left");
  return device;
}

Result<void> Keeper::UnmountOurs(bool detach) const {
  if (!mounted_) return {};
  if (device_ != 0) {
    const auto top = FindMount(mountpoint_);
    if (!top) return {};
    if (!IsOurs(*top)) {
      return Fail(ErrorCode::kIo, "another mount lies over {}", mountpoint_);
    }
  }
  return Unmount(mountpoint_, detach);
}

void Keeper::EndWorker() {
  if (ending_) return;
  ending_ = true;
  if (ready_) NotifyServiceManager("STOPPING=1\nSTATUS=ending");
  worker_limit_ = Clock::now() + kWorkerLimit;
  if (worker_pid_ < 0) return;
  // After a failed start there is nothing to shut down; nor is there without a store.
  if (!ready_ || !errors_only_.empty() || !Tell({Message::Kind::kEnd})) kill(worker_pid_, SIGKILL);
}

void Keeper::OnOpened(Message& message) {
  if (starting()) {
    auto device = Mount();
    if (!device) return FailStart(kExitMountFailed, device.error().message);
    connection_ = *std::move(device);
    source_ = std::move(message.passed);
  }
  if (const auto given = HandOver(); !given) FailStart(kExitMountFailed, given.error().message);
}

Result<void> Keeper::HandOver() {
  Message message{Message::Kind::kMounted, {device_before_, device_}};
  if (!restarts_) {
    Tell(message, connection_.get());
    // Only the worker may hold the device: when it ends, the kernel must see the last one closed.
    connection_.reset();
    return {};
  }
  Descriptor own = shared_ ? Descriptor() : CloneDevice(connection_);
  if (init_.empty()) {
    if (!own) return Fail(FromErrno(errno), "/dev/fuse cannot be shared: {}", ErrnoText(errno));
    auto init = ReadInit(own);
    if (!init) return Fail(init);
    init_ = *std::move(init);
    resends_ = CanResend(init_) && !options_.no_resend;
    // Older kernels end what a worker has taken when the last holder of what it read from goes.
    if (resends_) shared_ = std::move(own);
  }
  message.text = init_;
  message.numbers[2] = resends_ ? 1 : 0;
  Tell(message, shared_ ? shared_.get() : own.get());
  return {};
}

void Keeper::OnReady() {
  if (ready_ && !ending_) {
    if (errors_only_.empty()) {
      spdlog::info("{}: another worker serves", mountpoint_);
    } else {
      spdlog::error("{} serves {}; end it with zarrfs --unmount {}, and mount it again",
                    mountpoint_, errors_only_, mountpoint_);
    }
    NotifyServiceManager(StatusLine());
  }
  if (!starting()) return;
  ready_ = true;
  if (!options_.foreground) LeaveTerminal(mountpoint_);
  spdlog::info("{} is mounted at {}", options_.source, mountpoint_);
  NotifyServiceManager("READY=1\n" + StatusLine());
  if (Report(kExitDone, "")) return;
  // The caller has reported a failure, or was killed: nobody would unmount this mount.
  exit_code_ = kExitSystem;
  if (!replaced_dead_) static_cast<void>(UnmountOurs(/*detach=*/true));
  EndWorker();
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
      if (ready_) {
        last_end_ = fmt::format("could not take over: {}", message.text);
        start_at_ = Clock::now() + kPauseAfterFailure;
      } else {
        FailStart(static_cast<int>(message.numbers[0]), message.text);
      }
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
  Tell({Message::Kind::kLogLevel, {}, std::string(level)});
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
  spdlog::info("{}: the log level is {}", mountpoint_, kLogLevels[chosen]);
}

void Keeper::Reload() {
  NotifyServiceManager(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", SteadyNowNs() / 1000));
  auto again = ReadAgain(options_);
  if (!again) {
    spdlog::error("{}: not reloaded: {}", mountpoint_, again.error().message);
  } else {
    auto ignored = ChangedNames(options_.config, again->config);
    std::erase_if(ignored, IsLive);
    SetLevel(again->log_level);
    options_.index_cache = again->index_cache;
    options_.cache = again->cache;
    Tell({Message::Kind::kCacheSizes, {again->index_cache, again->cache}});
    spdlog::info("{}: reloaded: log_level {}, index_cache {} and cache {} bytes", mountpoint_,
                 again->log_level, again->index_cache, again->cache);
    if (!ignored.empty()) {
      spdlog::warn("{}: {} changed, which needs a new mount", mountpoint_,
                   fmt::join(ignored, ", "));
    }
    options_.config = std::move(again->config);
  }
  NotifyServiceManager("READY=1\n" + StatusLine());
}

void Keeper::OnSignal(const signalfd_siginfo& signal) {
  const bool ends = signal.ssi_signo == SIGINT || signal.ssi_signo == SIGTERM;
  if (ends) OnEndingSignal(signal.ssi_signo);
  if (ends || !ready_ || ending_) return;
  if (signal.ssi_signo == SIGHUP) Reload();
  if (signal.ssi_signo == SIGUSR2) ChangeLogLevel(signal);
}

void Keeper::OnEndingSignal(uint32_t number) {
  if (starting()) return FailStart(kExitSystem, "interrupted before the mount was ready");
  if (ending_) {
    if (worker_pid_ >= 0) kill(worker_pid_, SIGKILL);
    return;
  }
  // A service manager also sends signals because the worker was killed: not a request to unmount.
  // The mount dies with its last holders.
  const bool is_news = killed_at_ && Clock::now() - *killed_at_ < kKillIsNews;
  if (!asked_before_ && (is_news || (worker_pid_ >= 0 && HasDeadMainThread(worker_pid_)))) {
    asked_before_ = gives_up_ = true;
    start_at_.reset();
    if (last_end_.empty() || !is_news) last_end_ = "was killed";
    if (worker_pid_ >= 0) kill(worker_pid_, SIGKILL);
    return;
  }
  const auto unmounted = UnmountOurs(/*detach=*/asked_before_);
  if (!unmounted && !asked_before_) {
    asked_before_ = true;
    spdlog::warn("signal {}: {}: {}; a second signal detaches it", number, mountpoint_,
                 unmounted.error().message);
    return;
  }
  if (!unmounted) {
    spdlog::error("{}: cannot be detached: {}", mountpoint_, unmounted.error().message);
  }
  spdlog::info("signal {}: {} is {}", number, mountpoint_,
               asked_before_ ? "detached" : "unmounted");
  // The kernel sends no FUSE_DESTROY while another namespace or an open file holds the mount.
  EndWorker();
}

void Keeper::Watch() {
  std::erase_if(stuck_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
  if (worker_pid_ < 0) {
    if (start_at_ && !IsConnected(connection_)) start_at_.reset();
    return;
  }
  // A thread of a killed worker may wait in the kernel for an answer of the worker itself (while it
  // passes a file through to a reader). It ends once another worker answers, or the connection is
  // aborted.
  if (!mounted_ || !IsPastServing(worker_pid_)) return;
  if (resends_ && CanReplace()) {
    stuck_.push_back(std::exchange(worker_pid_, -1));
    worker_.reset();
    last_end_ = "was killed or crashed, and cannot end";
    Replace();
  } else if (HasDeadMainThread(worker_pid_)) {
    AbortConnection(connection_, device_, mountpoint_);
  }
}

std::string Keeper::UncleanEnd() const {
  const auto top = FindMount(mountpoint_);
  if (!top || !IsOurs(*top)) return "";
  // To the worker, an aborted connection looks like an unmount.
  return last_end_.empty() ? "the connection was aborted" : "the worker " + last_end_;
}

void Keeper::ClearCoveredMount() const {
  const auto top = covers_dead_ ? FindMount(mountpoint_) : std::nullopt;
  if (!top || top->type != kMountType || top->device == device_) return;
  if (const auto cleared = ClearDeadMounts(mountpoint_); !cleared) {
    spdlog::warn("{}: the dead mount below cannot be unmounted: {}", mountpoint_,
                 cleared.error().message);
  }
}

bool Keeper::OnWorkerEnd() {
  int status = 0;
  TEMP_FAILURE_RETRY(waitpid(worker_pid_, &status, 0));
  worker_pid_ = -1;
  worker_.reset();
  const bool was_killed = WIFSIGNALED(status);
  if (starting()) {
    if (was_killed) {
      EndStart(kExitSystem,
               fmt::format("ended by signal {} before the mount was ready", WTERMSIG(status)));
    } else if (WEXITSTATUS(status) == kExitDone) {
      EndStart(kExitMountFailed, fmt::format("{} was unmounted before it was ready", mountpoint_));
    } else {
      EndStart(kExitMountFailed,
               fmt::format("{} was mounted, but the kernel closed the connection", mountpoint_));
    }
  }
  if (was_killed) {
    last_end_ = fmt::format("was ended by signal {}", WTERMSIG(status));
    if (WTERMSIG(status) == SIGKILL) killed_at_ = Clock::now();
  } else if (!start_at_) {
    last_end_ = WEXITSTATUS(status) == kExitDone
                    ? ""
                    : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }
  if (!CanReplace()) return false;
  Replace();
  return true;
}

void Keeper::Replace() {
  const auto now = Clock::now();
  std::erase_if(ends_, [&](Clock::time_point end) { return now - end > kEndsPeriod; });
  ends_.push_back(now);
  if (last_end_.empty()) last_end_ = "ended";
  if (!errors_only_.empty()) {
    start_at_ = now + kPauseAfterFailure;  // even that one has ended
  } else if (ends_.size() > kMaxEnds) {
    errors_only_ = fmt::format("errors only: {} workers ended within a minute, the last one {}",
                               ends_.size(), last_end_);
    start_at_.reset();
  }
  const std::string line =
      fmt::format("{}: the worker {}; another one takes over", mountpoint_, last_end_);
  spdlog::error("{}", line);
  NotifyServiceManager(fmt::format("STATUS={}", OneLine(line)));
  if (start_at_) return;
  if (const auto started = StartWorker(); !started) {
    spdlog::error("{}: {}", mountpoint_, started.error().message);
    start_at_ = now + kPauseAfterFailure;
  }
}

int Keeper::Finish() {
  const std::string unclean = ready_ && !ending_ ? UncleanEnd() : "";
  if (!stuck_.empty()) AbortConnection(connection_, device_, mountpoint_);
  if (!unclean.empty()) {
    exit_code_ = kExitSystem;
    const std::string line = fmt::format(
        "{}: {}; the mount stays, dead, so that its files do not seem to be absent: mount "
        "there again, or end the mount with zarrfs --unmount {}",
        mountpoint_, unclean, mountpoint_);
    spdlog::error("{}", line);
    NotifyServiceManager(fmt::format("STATUS={}", OneLine(line)));
    return exit_code_;
  }
  if (ready_ && !ending_) NotifyServiceManager("STOPPING=1\nSTATUS=unmounted");
  ClearCoveredMount();
  if (ready_) spdlog::info("{}: ended", mountpoint_);
  return exit_code_;
}

int Keeper::Run() {
  if (const auto started = Start(); !started) {
    EndStart(kExitSystem, started.error().message);
    return exit_code_;
  }
  std::array<pollfd, 3> wait = {pollfd{signals_.get(), POLLIN, 0}, pollfd{-1, POLLIN, 0},
                                pollfd{report_.fd(), 0, 0}};
  bool was_killed = false;
  while (worker_ || start_at_) {
    if (ending_ && !worker_) break;
    if (start_at_ && !worker_ && Clock::now() >= *start_at_) {
      if (const auto started = StartWorker(); !started) {
        spdlog::error("{}: {}", mountpoint_, started.error().message);
        start_at_ = Clock::now() + kPauseAfterFailure;
      }
    }
    wait[1].fd = worker_ ? worker_->fd() : -1;
    int limit_ms = kWatchMs;
    if (ending_ && !was_killed) {
      const auto left = worker_limit_ - Clock::now();
      was_killed = left <= left.zero();
      if (was_killed) {
        spdlog::warn("{}: ended with pending requests", mountpoint_);
        kill(worker_pid_, SIGKILL);
      } else {
        limit_ms = static_cast<int>(left / std::chrono::milliseconds(1)) + 1;
      }
    }
    const int events = poll(wait.data(), wait.size(), limit_ms);
    if (events == 0) Watch();
    if (events <= 0) continue;
    if (wait[0].revents != 0) {
      signalfd_siginfo signal = {};
      if (read(signals_.get(), &signal, sizeof signal) == sizeof signal) OnSignal(signal);
    }
    if (wait[2].revents != 0) {  // the waiting process is gone
      if (starting()) FailStart(kExitSystem, "the process that waited for the mount is gone");
      wait[2].fd = -1;
    }
    if (wait[1].revents != 0 && worker_) {
      auto message = worker_->Receive();
      if (!message) {
        if (!OnWorkerEnd()) break;
      } else {
        OnMessage(*message);
      }
    }
  }
  return Finish();
}

}  // namespace

int RunKeeper(const MountOptions& options, const MountPoint& mountpoint, Channel report) {
  return Keeper(options, mountpoint, std::move(report)).Run();
}

}  // namespace zarrfs
