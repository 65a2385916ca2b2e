#include "fs/daemon.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <fuse_opt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "fs/file_system.h"
#include "fs/log.h"
#include "fs/mount_table.h"
#include "fs/mountpoint.h"
#include "fs/parallel_lookups.h"
#include "zarrcore/store/local_store.h"

namespace zarrfs {
namespace {

using Clock = std::chrono::steady_clock;

// How long requests under way may take to end once nobody can wait for them any more.
constexpr auto kGrace = std::chrono::seconds(2);
// How often the keeper looks whether the loop is about to end: nothing tells it, because polling
// the FUSE device would wake it up for each request.
constexpr int kWatchMs = 5000;
// How often it wakes the main thread while that should end: one wake-up may come too early.
constexpr int kWakeMs = 100;

[[noreturn]] void EndProcess(int code) {
  spdlog::default_logger_raw()->flush();
  std::fflush(nullptr);
  // No destructors: threads that are stuck in a request still use everything.
  _exit(code);
}

Result<std::unique_ptr<FileSystem>> OpenSource(const MountOptions& options) {
  RaiseOpenFileLimit();
  // Looked for at its path again, a store below the mount point would be found in the mount.
  const auto lies_below = [](const std::string& path, const std::string& folder) {
    return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
  };
  std::error_code ignored;
  const std::string real_source = std::filesystem::canonical(options.source, ignored).string();
  const bool follow_path = !lies_below(options.source, options.mountpoint) &&
                           !lies_below(real_source, options.mountpoint);
  auto store = OpenLocalStore(options.source, {.max_open_files = 0, .follow_path = follow_path});
  if (!store) return Fail(store);
  return FileSystem::Open(*std::move(store), options);
}

// What the serving process tells the waiting one, in one write: the exit code, then the line for
// the user.
constexpr size_t kReportLimit = 4096;  // PIPE_BUF: written at once or not at all

class Daemon {
 public:
  // `report_fd` is the pipe to the waiting process; -1 in the foreground.
  Daemon(MountOptions options, std::string mountpoint, int report_fd)
      : options_(std::move(options)), mountpoint_(std::move(mountpoint)), report_fd_(report_fd) {}

  [[noreturn]] void Run();

 private:
  // kStarting ends once, and whoever ends it decides what the user is told.
  enum class Phase { kStarting, kReady, kAbandoned };

  bool EndStart(Phase phase) {
    Phase starting = Phase::kStarting;
    return phase_.compare_exchange_strong(starting, phase);
  }
  // False if nobody hears it any more.
  bool Report(int code, std::string_view line) const;
  // If the start is still under way: says why there is no mount.
  void FailStart(int code, std::string_view line) {
    if (!EndStart(Phase::kAbandoned)) return;
    exit_code_ = code;
    Report(code, line);
  }

  Result<void> Mount();
  // Only if the mount on top at the mount point is ours; success if there is none at all.
  Result<void> Unmount(bool detach) const;

  void RingDoorbell();
  Result<void> CheckAnswers() const;
  void RequestEnd();

  void Keep();
  void OnSignal(int signal_number);
  // The loop shall end now, and the process soon.
  void EndLoop();
  [[noreturn]] void GiveUpStart(std::string_view why);
  [[noreturn]] void EndAnyhow();

  const MountOptions options_;
  const std::string mountpoint_;
  const int report_fd_;
  pthread_t main_thread_ = {};
  int signal_fd_ = -1;
  int nudge_fd_ = -1;  // an eventfd that wakes the keeper

  std::atomic<Phase> phase_ = Phase::kStarting;
  std::atomic<int> exit_code_ = kExitDone;
  std::atomic<bool> end_requested_ = false;
  // Our mount is gone: what lies at the mount point from now on is somebody else's, even if it has
  // the device number that was ours.
  std::atomic<bool> unmounted_ = false;

  // Held while mounting, so that a start that is given up meanwhile knows whether to unmount.
  std::mutex mount_mutex_;
  std::atomic<fuse_session*> session_ = nullptr;  // set once mounted; never destroyed
  FileSystem* file_system_ = nullptr;             // likewise
  dev_t device_before_ = 0;                       // at the mount point, before mounting
  dev_t device_ = 0;                              // of our mount; 0 if the kernel does not tell

  // The keeper's own.
  std::optional<Clock::time_point> deadline_;  // set once the end has begun
  bool asked_before_ = false;                  // a signal was answered with "busy"
};

bool Daemon::Report(int code, std::string_view line) const {
  if (report_fd_ < 0) {
    if (code != kExitDone) PrintError(line);
    return true;
  }
  std::string message(1, static_cast<char>(code));
  message += OneLine(line).substr(0, kReportLimit - 1);
  ssize_t written = -1;
  do {
    written = write(report_fd_, message.data(), message.size());
  } while (written < 0 && errno == EINTR);
  return written > 0;
}

Result<void> Daemon::Mount() {
  auto file_system = OpenSource(options_);
  if (!file_system) return Fail(file_system);

  const std::lock_guard lock(mount_mutex_);
  struct stat before = {};
  if (stat(mountpoint_.c_str(), &before) != 0) {
    return Fail(FromErrno(errno), "mount point {} cannot be used: {}", mountpoint_,
                ErrnoText(errno));
  }
  device_before_ = before.st_dev;

  MountMessages messages;
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_session* session = nullptr;
  if (fuse_opt_add_arg(&arguments, "zarrfs") == 0 && fuse_opt_add_arg(&arguments, "-o") == 0 &&
      fuse_opt_add_arg(&arguments, LibfuseOptions(options_).c_str()) == 0) {
    session = fuse_session_new(&arguments, &FileSystem::Operations(), sizeof(fuse_lowlevel_ops),
                               file_system->get());
  }
  fuse_opt_free_args(&arguments);
  const bool mounted = session != nullptr && fuse_session_mount(session, mountpoint_.c_str()) == 0;
  const std::string said = messages.Take();
  if (!mounted) {
    if (session != nullptr) fuse_session_destroy(session);
    return Fail(ErrorCode::kIo, "{} cannot be mounted: {}", mountpoint_,
                said.empty() ? "libfuse gives no reason" : said);
  }
  if (!said.empty()) spdlog::warn("mounting: {}", said);
  AllowParallelLookups(session);
  const auto entry = FindMount(mountpoint_);
  device_ = entry && entry->type == kMountType ? entry->device : 0;
  file_system_ = file_system->release();  // the session's for as long as the process lives
  session_ = session;
  return {};
}

Result<void> Daemon::Unmount(bool detach) const {
  if (unmounted_) return {};
  const auto top = FindMount(mountpoint_);
  if (device_ != 0) {
    if (!top) return {};
    if (top->device != device_) {
      return Fail(ErrorCode::kIo, "another mount lies over {}", mountpoint_);
    }
  }
  return zarrfs::Unmount(mountpoint_, detach);
}

Result<void> Daemon::CheckAnswers() const {
  struct stat root = {};
  if (stat(mountpoint_.c_str(), &root) != 0) return Fail(FromErrno(errno), "{}", ErrnoText(errno));
  if (root.st_dev == device_before_ || (device_ != 0 && root.st_dev != device_)) {
    return Fail(ErrorCode::kIo, "another folder is found there");
  }
  struct statvfs space = {};
  if (statvfs(mountpoint_.c_str(), &space) != 0) {
    return Fail(FromErrno(errno), "{}", ErrnoText(errno));
  }
  return {};
}

void Daemon::RingDoorbell() {
  if (const auto answers = CheckAnswers(); !answers) {
    FailStart(kExitMountFailed, fmt::format("{} was mounted, but does not answer: {}", mountpoint_,
                                            answers.error().message));
    RequestEnd();
    return;
  }
  file_system_->OnMounted(session_);
  if (!EndStart(Phase::kReady)) return;
  if (report_fd_ >= 0) {
    // First let go of the terminal or pipe: whoever reads it to its end must not wait for us.
    LogToSyslog(options_.log_level);
    if (const int null = open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) {
      for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
      close(null);
    }
  }
  spdlog::info("{} is mounted at {}", options_.source, mountpoint_);
  if (Report(kExitDone, "")) return;
  // Who asked for the mount was told that it failed, or was killed: nobody would unmount it.
  exit_code_ = kExitSystem;
  RequestEnd();
}

void Daemon::RequestEnd() {
  end_requested_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(nudge_fd_, &one, sizeof one);
}

void Daemon::GiveUpStart(std::string_view why) {
  FailStart(kExitSystem, why);
  // Waits for a mount that is being made; the main thread cannot make one afterwards.
  const std::lock_guard lock(mount_mutex_);
  if (session_ != nullptr) static_cast<void>(Unmount(/*detach=*/true));
  EndProcess(exit_code_);
}

void Daemon::EndAnyhow() {
  static_cast<void>(Unmount(/*detach=*/true));
  spdlog::warn("{}: ended with requests under way", mountpoint_);
  EndProcess(exit_code_);
}

void Daemon::EndLoop() {
  if (!deadline_) deadline_ = Clock::now() + kGrace;
  fuse_session_exit(session_);
}

void Daemon::OnSignal(int signal_number) {
  if (phase_ == Phase::kStarting) GiveUpStart("interrupted before the mount was ready");
  if (deadline_) EndAnyhow();
  const auto unmounted = Unmount(/*detach=*/asked_before_);
  if (!unmounted && !asked_before_) {
    asked_before_ = true;
    spdlog::warn("signal {}: {}: {}; a second signal detaches it", signal_number, mountpoint_,
                 unmounted.error().message);
    return;
  }
  if (!unmounted)
    spdlog::error("{}: cannot be detached: {}", mountpoint_, unmounted.error().message);
  unmounted_ = unmounted.has_value();
  spdlog::info("signal {}: {} is {}", signal_number, mountpoint_,
               asked_before_ ? "detached" : "unmounted");
  // The kernel's farewell does not come while another namespace or an open file keeps the mount.
  EndLoop();
}

void Daemon::Keep() {
  std::array<pollfd, 3> wait = {pollfd{signal_fd_, POLLIN, 0}, pollfd{nudge_fd_, POLLIN, 0},
                                pollfd{report_fd_, 0, 0}};
  for (;;) {
    poll(wait.data(), wait.size(), deadline_ ? kWakeMs : kWatchMs);
    if (wait[0].revents != 0) {
      signalfd_siginfo info = {};
      if (read(signal_fd_, &info, sizeof info) == sizeof info) {
        OnSignal(static_cast<int>(info.ssi_signo));
      }
    }
    if (wait[1].revents != 0) {
      uint64_t nudges = 0;
      [[maybe_unused]] const ssize_t count = read(nudge_fd_, &nudges, sizeof nudges);
    }
    if (wait[2].revents != 0) {  // the waiting process is gone
      if (phase_ == Phase::kStarting) GiveUpStart("nobody waits for the mount any more");
      wait[2].fd = -1;
    }
    fuse_session* const session = session_;
    if (session == nullptr) continue;
    if (!deadline_ && !end_requested_ && fuse_session_exited(session) != 0) unmounted_ = true;
    if (!deadline_ && (end_requested_ || fuse_session_exited(session) != 0)) EndLoop();
    if (deadline_) {
      if (Clock::now() > *deadline_) EndAnyhow();
      pthread_kill(main_thread_, SIGUSR1);
    }
  }
}

void Daemon::Run() {
  main_thread_ = pthread_self();
  // Every thread inherits this mask: the keeper alone takes these signals, from its descriptor.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &action, nullptr);
  sigaction(SIGPIPE, &action, nullptr);
  action.sa_handler = SIG_DFL;  // a shell's background job inherits SIGINT ignored
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGCHLD, &action, nullptr);
  action.sa_handler = [](int) {};  // without SA_RESTART: it ends the loop's wait
  sigaction(SIGUSR1, &action, nullptr);
  signal_fd_ = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
  nudge_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signal_fd_ < 0 || nudge_fd_ < 0) {
    FailStart(kExitSystem, fmt::format("no descriptors: {}", ErrnoText(errno)));
    EndProcess(exit_code_);
  }
  // Also in the foreground: the working folder may lie below the mount point.
  if (chdir("/") != 0) spdlog::debug("chdir /: {}", ErrnoText(errno));
  std::thread([this] { Keep(); }).detach();

  if (const auto mounted = Mount(); !mounted) {
    FailStart(kExitMountFailed, mounted.error().message);
    // If it was given up instead, the keeper ends the process; it has nothing to unmount.
    EndProcess(exit_code_);
  }
  std::thread doorbell([this] { RingDoorbell(); });
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  fuse_loop_cfg_set_max_threads(config, options_.threads);
  // Idle threads stay, as is libfuse's default: making them anew costs more than keeping them.
  const int result = fuse_session_loop_mt(session_, config);
  fuse_loop_cfg_destroy(config);
  if (result != 0 && !end_requested_) {
    spdlog::error("{}: the conversation with the kernel broke off: {}", mountpoint_,
                  ErrnoText(result < 0 ? -result : result));
    exit_code_ = kExitSystem;
  }
  if (result == 0 && !end_requested_) unmounted_ = true;  // the kernel said so
  RequestEnd();                                           // from here on the keeper's deadline runs
  if (result == 0) {
    FailStart(kExitMountFailed, fmt::format("{} was unmounted before it was ready", mountpoint_));
  } else {
    FailStart(
        kExitMountFailed,
        fmt::format("{} was mounted, but the kernel broke off the conversation", mountpoint_));
  }
  doorbell.join();
  // After an abort, or a start that failed, the mount is still there.
  if (const auto unmounted = Unmount(/*detach=*/true); !unmounted) {
    spdlog::debug("{}: {}", mountpoint_, unmounted.error().message);
  }
  spdlog::info("{}: ended", mountpoint_);
  EndProcess(exit_code_);
}

// In the process that the user waits for.
int AwaitReport(int report_fd, pid_t daemon) {
  std::array<char, kReportLimit> message;
  ssize_t length = -1;
  do {
    length = read(report_fd, message.data(), message.size());
  } while (length < 0 && errno == EINTR);
  if (length > 0) {
    const int code = static_cast<unsigned char>(message[0]);
    if (code != kExitDone) {
      PrintError(std::string_view(message.data() + 1, static_cast<size_t>(length) - 1));
    }
    return code;
  }
  int status = 0;
  while (waitpid(daemon, &status, 0) < 0 && errno == EINTR) {
  }
  PrintError(WIFSIGNALED(status)
                 ? fmt::format("ended by signal {} before the mount was ready", WTERMSIG(status))
                 : std::string("ended before the mount was ready"));
  return kExitSystem;
}

}  // namespace

int RunDaemon(MountOptions options) {
  LogToStderr(options.log_level);
  auto mountpoint = CheckMount(options);
  if (!mountpoint) {
    PrintError(mountpoint.error().message);
    return kExitMountFailed;
  }
  options.source = AbsolutePath(options.source);
  options.mountpoint = *mountpoint;

  if (options.fake) {
    if (const auto file_system = OpenSource(options); !file_system) {
      PrintError(file_system.error().message);
      return kExitMountFailed;
    }
    return kExitDone;
  }
  // A daemon outlives this function's frame in threads that are stuck: it is never destroyed.
  if (options.foreground) (new Daemon(options, *mountpoint, -1))->Run();

  std::array<int, 2> report = {-1, -1};
  if (pipe2(report.data(), O_CLOEXEC) != 0) {
    PrintError(fmt::format("no pipe: {}", ErrnoText(errno)));
    return kExitSystem;
  }
  const pid_t pid = fork();
  if (pid < 0) {
    PrintError(fmt::format("no process: {}", ErrnoText(errno)));
    return kExitSystem;
  }
  if (pid == 0) {
    close(report[0]);
    setsid();
    (new Daemon(options, *mountpoint, report[1]))->Run();
  }
  close(report[1]);
  const int code = AwaitReport(report[0], pid);
  if (code == kExitDone && options.verbose) {
    fmt::print("zarrfs: {} is mounted at {}\n", options.source, options.mountpoint);
  }
  return code;
}

}  // namespace zarrfs
