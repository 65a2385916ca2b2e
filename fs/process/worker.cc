#include "fs/process/worker.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "fs/fuse/caretaker.h"
#include "fs/fuse/connection.h"
#include "fs/fuse/server.h"
#include "fs/fuse/waiting_room.h"
#include "fs/mount/session.h"
#include "fs/mount/start_message.h"
#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/options/settings.h"
#include "fs/process/environment.h"
#include "fs/process/execution.h"
#include "fs/process/heartbeat.h"
#include "fs/process/id_saver.h"
#include "fs/process/opening.h"
#include "fs/process/privileges.h"
#include "fs/process/worker_sandbox.h"
#include "fs/tree/tree.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/os/memory_limit.h"

namespace zarrfs {
namespace {

using Clock = std::chrono::steady_clock;

// How long pending requests may take after the mount has ended.
constexpr auto kGrace = std::chrono::seconds(2);
// The interval at which the main thread is signaled until it ends, in milliseconds. A single signal
// could arrive before the thread waits, and would have no effect.
constexpr int kWakeMs = 100;
// The minimum lifetime of a worker whose store is out of reach. If such workers ended sooner, more
// than five could end within a minute, and a caretaker would take over.
constexpr auto kMinTime = std::chrono::seconds(20);

// The milliseconds until `time`, rounded up; 0 if it has passed.
int MsUntil(Clock::time_point time) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

class Worker {
 public:
  Worker(MountOptions options, std::string mountpoint, WorkerStart start, WorkerSandbox sandbox,
         uint64_t default_memory)
      : options_(std::move(options)),
        sandbox_(std::move(sandbox)),
        mountpoint_(std::move(mountpoint)),
        keeper_(std::move(start.keeper)),
        start_(std::move(start)),
        takes_over_(start_.takes_over),
        default_memory_(default_memory) {}

  [[noreturn]] void Run();

 private:
  // Reports a failed start and ends this process. The keeper reports the error to the user and
  // unmounts.
  [[noreturn]] void FailStart(std::string_view line) const {
    keeper_.Send({Message::Kind::kFailed, {kExitMountFailed}, std::string(line)});
    EndProcess(kExitMountFailed);
  }
  // Creates a libfuse session for the FUSE device, which is already mounted.
  void MakeSession();
  Result<void> CheckAnswers() const;
  void Describe(MountStatus& status) const;

  void Attend();
  void SendBeat() const;
  // Handles a message from the keeper; false at the end of the channel.
  bool HandleMessage();

  // Called when the source leads to a folder outside the sandbox. Ends this worker, because the
  // sandbox of the next worker will include the folder.
  void OnOutOfReach() {
    if (WhyNoIoUring(options_).empty()) return;  // no other worker could take over
    is_out_of_reach_ = true;
    EndIfOutOfReach();
  }
  void EndIfOutOfReach() const;

  // The number of connections of the fetcher; 0 if the mount needs no fetcher.
  [[nodiscard]] uint32_t Connections() const {
    const bool fetches = NeedsFetcher(options_.source, options_.virtual_prefixes);
    return fetches ? static_cast<uint32_t>(options_.remote.connections) : 0;
  }
  void SetMemory(uint64_t bytes) const {
    // Includes the threads of the two waiting rooms (fs/fuse/waiting_room.h), one for names and one
    // for data.
    const uint64_t threads = options_.threads + 2 * WaitingThreads(Connections());
    if (const auto limited = LimitMemory(bytes, threads); !limited) {
      spdlog::debug("{}", limited.error().message);
    }
  }

  const MountOptions options_;
  const WorkerSandbox sandbox_;
  const Clock::time_point begin_ = Clock::now();
  const std::string mountpoint_;
  const Channel keeper_;
  WorkerStart start_;  // without its `keeper`, which was moved out
  const bool takes_over_;
  const uint64_t default_memory_;
  const pthread_t main_thread_ = pthread_self();
  Server* server_ = nullptr;  // never destroyed, like the session
  fuse_session* session_ = nullptr;
  // The device at the mount point before mounting; 0 for a given mount.
  dev_t device_before_ = 0;
  dev_t device_ = 0;  // the device of the mount; 0 if unknown
  std::atomic<bool> end_requested_ = false;
  std::atomic<bool> is_out_of_reach_ = false;
};

void Worker::MakeSession() {
  auto mounted = keeper_.Receive();
  // The keeper has already reported why it could not mount.
  if (!mounted || mounted->kind != Message::Kind::kMounted || !mounted->passed) {
    EndProcess(kExitSystem);
  }
  device_before_ = mounted->numbers[0];
  device_ = mounted->numbers[1];

  session_ = NewSession(options_, Server::Operations(), server_);
  if (session_ == nullptr ||
      // libfuse owns the device from here on.
      fuse_session_mount(session_, fmt::format("/dev/fd/{}", mounted->passed.release()).c_str()) !=
          0) {
    FailStart(fmt::format("{}: libfuse does not accept the device", mountpoint_));
  }
  if (!mounted->text.empty()) AnswerInit(session_, mounted->text);
  if (takes_over_ && mounted->numbers[2] != 0) Resend(fuse_session_fd(session_));
  if (const std::string why = WhyNoIoUring(options_); options_.io_uring == true && !why.empty()) {
    spdlog::warn("io_uring is not used: {}", why);
  }
}

Result<void> Worker::CheckAnswers() const {
  // Another program made the mount, and this process does not see it.
  if (device_before_ == 0 && device_ == 0) return {};
  struct stat root = {};
  if (stat(mountpoint_.c_str(), &root) != 0) return Fail(FromErrno(errno), "{}", ErrnoText(errno));
  if (root.st_dev == device_before_ || (device_ != 0 && root.st_dev != device_)) {
    return Fail(ErrorCode::kIo, "another folder is at the mount point");
  }
  struct statvfs space = {};
  if (statvfs(mountpoint_.c_str(), &space) != 0) {
    return Fail(FromErrno(errno), "{}", ErrnoText(errno));
  }
  return {};
}

void Worker::Describe(MountStatus& status) const {
  status.pid = options_.pid;
  status.keeper_version = start_.keeper_version;
  status.log_level = LogLevel();
  status.capabilities = CapabilitiesInForce();
  status.sandbox = sandbox_.text;
  if (start_.fetch_memory) {
    status.fetcher = OneLine(FetchChannel::ReadNote(start_.fetch_memory));
    status.figures.network = FetchChannel::ReadCounts(start_.fetch_memory);
  }
  status.options = OneLine(SettingsList(options_));
  status.config_file = OneLine(options_.config_file);
  status.links = OneLine(ToString(LinksInForce(options_)));
  status.open_messages = options_.open_messages;
  status.threads = options_.threads;
  status.uses_io_uring = server_->uses_io_uring();
  status.no_io_uring = WhyNoIoUring(options_);
  if (!status.no_io_uring.empty()) status.start_format = start_.start_format;
}

void Worker::EndIfOutOfReach() const {
  if (!is_out_of_reach_ || Clock::now() - begin_ < kMinTime) return;
  spdlog::warn("{} is another folder now, which the sandbox of this worker does not include",
               options_.source.text());
  EndProcess(kExitSystem);
}

bool Worker::HandleMessage() {
  const auto message = keeper_.Receive();
  if (!message) return false;
  switch (message->kind) {
    case Message::Kind::kEnd:
      end_requested_ = true;
      break;
    case Message::Kind::kLogLevel:
      SetLogLevel(message->text);
      break;
    case Message::Kind::kCacheSizes:
      SetMemory(message->numbers[2] != 0 ? message->numbers[2] : default_memory_);
      server_->tree().Evict(UINT64_MAX);  // also evicts large entries
      server_->tree().SetCacheSizes(message->numbers[0], message->numbers[1]);
      break;
    default:
      break;
  }
  return true;
}

void Worker::SendBeat() const {
  const Server::Progress now = server_->progress();
  const auto oldest = std::chrono::duration_cast<std::chrono::milliseconds>(now.oldest);
  const Beat beat{.taken = now.answered + now.unanswered,
                  .answered = now.answered,
                  .oldest_ms = static_cast<uint64_t>(oldest.count()),
                  .free_threads = now.free_threads};
  keeper_.Send({Message::Kind::kBeat, {}, ToText(beat)});
}

void Worker::Attend() {
  // A worker that takes over skips the check, because its mount may be covered by another mount, or
  // detached and still in use.
  if (const auto answers = takes_over_ ? Result<void>() : CheckAnswers(); !answers) {
    FailStart(fmt::format("{} was mounted, but does not answer: {}", mountpoint_,
                          answers.error().message));
  }
  server_->OnMounted(session_);
  // Detaches before the report, because a program that reads the terminal or pipe to its end must
  // not wait for this process.
  if (!options_.foreground && !takes_over_) DetachFromTerminal();
  keeper_.Send({Message::Kind::kReady});
  if (!takes_over_) {
    spdlog::log(sandbox_.is_whole ? spdlog::level::info : spdlog::level::warn,
                "{}: the worker's sandbox: {}", mountpoint_, sandbox_.text);
  }

  std::optional<Clock::time_point> deadline;
  pollfd wait = {keeper_.fd(), POLLIN, 0};
  auto next_beat = Clock::now();
  for (;;) {
    if (Clock::now() >= next_beat) {
      SendBeat();
      next_beat = Clock::now() + Heartbeat::kPeriod;
    }
    // The end of libfuse's loop is noticed after at most Heartbeat::kPeriod. Polling the FUSE
    // device would notice it immediately, but would wake this thread for each request.
    poll(&wait, 1, deadline ? kWakeMs : MsUntil(next_beat));
    // A mount without a keeper can no longer be unmounted by its owner, so this worker ends and
    // leaves a dead mount.
    if (wait.revents != 0 && !HandleMessage()) EndProcess(kExitSystem);
    EndIfOutOfReach();
    if (!end_requested_ && fuse_session_exited(session_) == 0) continue;
    if (!deadline) {
      deadline = Clock::now() + kGrace;
      server_->tree().StopPrefetch();
    }
    if (Clock::now() > *deadline) {
      spdlog::warn("{}: ended with pending requests", mountpoint_);
      EndProcess(kExitDone);
    }
    fuse_session_exit(session_);
    pthread_kill(main_thread_, SIGUSR1);
  }
}

void Worker::Run() {
  const uint64_t memory = options_.memory.value_or(default_memory_);
  SetMemory(memory);
  if (!takes_over_) start_.source = OpenHiddenSource(options_);
  MountOptions options = options_;
  // The epoch tables (EpochTable) are not evicted when memory is short, so they are limited to a
  // quarter of the memory.
  options.epochs = std::min(options.epochs, memory / 4);
  Descriptor journal(fcntl(start_.ids.get(), F_DUPFD_CLOEXEC, 0));
  auto tree = OpenTree(options, start_, std::move(start_.ids), [this] { OnOutOfReach(); });
  if (!tree) FailStart(tree.error().message);
  if (start_.ids_file) StartSavingIds({std::move(start_.ids_file), std::move(journal)});
  (*tree)->DescribeDaemonWith([this](MountStatus& status) { Describe(status); });
  server_ = new Server(*std::move(tree), {.no_epoch = options_.no_epoch,
                                          .open_messages = options_.open_messages,
                                          .extended_attributes = options_.extended_attributes,
                                          .io_uring = WhyNoIoUring(options_).empty(),
                                          .threads = options_.threads,
                                          .connections = Connections()});
  keeper_.Send({Message::Kind::kOpened}, start_.source.get());
  MakeSession();

  std::thread([this] { Attend(); }).detach();
  fuse_loop_config* config = fuse_loop_cfg_create();
  // Threads must not clone the device if another worker may take over. Requests that were read
  // through an open file description of the device are lost when that description is closed.
  fuse_loop_cfg_set_clone_fd(config, WhyNoIoUring(options_).empty() ? 1 : 0);
  fuse_loop_cfg_set_max_threads(config, options_.threads);
  // Keeps idle threads (libfuse's default), because starting new threads costs more.
  const int result = fuse_session_loop_mt(session_, config);
  fuse_loop_cfg_destroy(config);
  if (result == 0 || end_requested_) EndProcess(kExitDone);
  spdlog::error("{}: the connection to the kernel failed: {}", mountpoint_,
                ErrnoText(result < 0 ? -result : result));
  EndProcess(kExitSystem);
}

void SetSignals();

// Limits the size of the files that this process writes, because no other limit covers a memory
// file that is not mapped. Leaves room for the journal of ids. Sets no limit if a log in the
// foreground is written to a file.
void LimitFiles(const MountOptions& options) {
  // The maximum size of the journal of ids, with room for its header.
  constexpr rlim_t kLargest = IdJournal::kMaxBytes + (uint64_t{1} << 20);
  struct stat log = {};
  if (options.foreground && fstat(STDERR_FILENO, &log) == 0 && S_ISREG(log.st_mode)) return;
  rlimit limit = {};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_max = std::min(limit.rlim_max, kLargest);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  setrlimit(RLIMIT_FSIZE, &limit);
}

// When memory runs out, makes the kernel kill this process and not its keeper. The keeper then
// starts another worker.
void DieBeforeKeeper() {
  constexpr int kMore = 100;
  constexpr int kMaxScore = 1000;
  const char* const path = "/proc/self/oom_score_adj";
  int score = 0;
  if (std::ifstream(path) >> score) std::ofstream(path) << std::min(score + kMore, kMaxScore);
}

// From now on, sends log lines to the keeper, which writes them.
void TakeLog(WorkerStart& start) {
  if (!start.log) return;
  LogToPipe(std::move(start.log));
#ifndef ZARRFS_SANITIZED  // sanitizers report to standard error
  CloseStandardFiles();
#endif
}

WorkerSandbox BeginProcess(const MountOptions& options, const WorkerStart& start,
                           bool reads_store) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.keeper_pid) _exit(kExitSystem);
  prctl(PR_SET_DUMPABLE, 1);  // the keeper is not dumpable, and this setting is inherited
  ForgetEnvironment();
  DieBeforeKeeper();
  RaiseOpenFileLimit();  // must be done before the sandbox, which forbids it
  LimitFiles(options);
  SetSignals();
  WorkerSandbox sandbox =
      EnterWorkerSandbox(options, start.source, start.keeper_pid,
                         {start.keeper.fd(), start.fetch_socket.get()}, reads_store);
  // A change of user resets PR_SET_PDEATHSIG for a moment, in which the keeper may have ended.
  if (getppid() != start.keeper_pid) _exit(kExitSystem);
  return sandbox;
}

// Ignores the signals that the keeper handles, because a terminal or a service manager sends them
// to both processes.
void SetSignals() {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGPIPE, SIGXFSZ}) {
    sigaction(number, &action, nullptr);
  }
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);
  // Without SA_RESTART, so the signal ends the wait of libfuse's loop.
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void RunCaretaker(const MountOptions& options, WorkerStart start, std::string status) {
  TakeLog(start);
  const WorkerSandbox sandbox = BeginProcess(options, start, /*reads_store=*/false);
  status += fmt::format("sandbox: {}\n", sandbox.text);
  auto journal = std::make_unique<IdJournal>();
  if (const auto continued = journal->Continue(std::move(start.ids)); !continued) {
    spdlog::warn("{}", continued.error().message);
  }
  const std::optional<size_t> only_view =
      options.view.empty() ? std::nullopt : ViewNumber(options.view);
  auto* const caretaker = new Caretaker(std::move(journal), only_view, std::move(status));
  start.keeper.Send({Message::Kind::kOpened});
  auto mounted = start.keeper.Receive();
  if (!mounted || !mounted->passed) EndProcess(kExitSystem);
  fuse_session* const session = NewSession(options, Caretaker::Operations(), caretaker);
  if (session == nullptr ||
      fuse_session_mount(session, fmt::format("/dev/fd/{}", mounted->passed.release()).c_str()) !=
          0) {
    EndProcess(kExitSystem);
  }
  AnswerInit(session, mounted->text);
  if (mounted->numbers[2] != 0) Resend(fuse_session_fd(session));
  IncEpoch(fuse_session_fd(session));
  start.keeper.Send({Message::Kind::kReady});
  EndProcess(fuse_session_loop(session) == 0 ? kExitDone : kExitSystem);
}

void RunWorker(MountOptions options, std::string mountpoint, WorkerStart start) {
  start.keeper.Send({Message::Kind::kStarted, {FetchChannel::kVersion}, ZARRFS_VERSION});
  TakeLog(start);
  // DefaultMemory() reads files that the sandbox hides.
  const uint64_t default_memory = DefaultMemory();
  WorkerSandbox sandbox = BeginProcess(options, start, /*reads_store=*/true);
  options.pid = start.keeper_pid;
  // Never destroyed, because threads that are stuck in a request still use the object.
  (new Worker(std::move(options), std::move(mountpoint), std::move(start), std::move(sandbox),
              default_memory))
      ->Run();
}

}  // namespace zarrfs
