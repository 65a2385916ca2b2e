#include "fs/process/workers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <utility>

#include "fs/ids/id_file.h"
#include "fs/ids/id_format.h"
#include "fs/options/exit_code.h"
#include "fs/process/environment.h"
#include "fs/process/worker.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

// A worker that ends is replaced, but at most kMaxEnds times in kEndsPeriod.
constexpr size_t kMaxEnds = 5;
constexpr auto kEndsPeriod = std::chrono::seconds(60);
// The pause before the next start, after a worker could not take over or a caretaker has ended.
constexpr auto kPauseAfterFailure = std::chrono::seconds(2);
// How long to wait for the file of ids. A mount that was just unmounted may still use it.
constexpr auto kIdFileTimeout = std::chrono::seconds(5);
constexpr auto kKillIsNews = std::chrono::seconds(2);

std::string ReadProc(pid_t pid, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name));
  return {std::istreambuf_iterator<char>(file), {}};
}

// True if the main thread of a child has ended, but the child was not yet reaped.
bool HasDeadMainThread(pid_t pid) {
  const std::string text = ReadProc(pid, "stat");
  // A line has the form "42 (any name) Z ...".
  const size_t end_of_name = text.rfind(") ");
  return end_of_name != std::string::npos && text.compare(end_of_name + 2, 1, "Z") == 0;
}

}  // namespace

void Workers::AddTo(StartMessage& state) const {
  state.journal = IdFormat();
  state.root = NumberFor(source_);
  state.list = NumberFor(fetcher_.key_list());
  SetSecrets(fetcher_.secrets(), state);
}

Result<void> Workers::MakeJournal() {
  ids_.reset(memfd_create("zarrfs-ids", MFD_CLOEXEC));
  if (!ids_)
    return Fail(ErrorCode::kIo, "cannot create a memory file for ids: {}", ErrnoText(errno));
  if (options_.ids.empty()) return {};
  auto file = IdFile::Open(options_.ids, kIdFileTimeout);
  if (!file) return Fail(file);
  ids_file_ = *std::move(file);
  const auto loaded = IdFile::Load(ids_file_, ids_);
  if (!loaded) return Fail(loaded.error().code, "ids={}: {}", options_.ids, loaded.error().message);
  if (!loaded->empty()) spdlog::warn("ids={}: {}", options_.ids, *loaded);
  return {};
}

void Workers::SaveIds() {
  if (!ids_file_) return;
  if (const auto saved = IdFile(std::move(ids_file_), std::move(ids_)).Save(/*last=*/true);
      !saved) {
    spdlog::warn("ids={}: {}", options_.ids, saved.error().message);
  }
}

void Workers::RunChild(WorkerStart start, bool executes) {
  // PR_SET_PDEATHSIG survives exec(2). The new program could hang before it makes this call itself.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.keeper_pid) _exit(kExitSystem);
  in_child_();
  log_.Close();
  start.ids = std::move(ids_);
  start.ids_file = std::move(ids_file_);
  start.source = std::move(source_);
  start.fetch_socket.reset(fetcher_.channel().client.get());
  start.fetch_memory.reset(fetcher_.channel().memory.get());
  start.list.reset(fcntl(fetcher_.key_list().get(), F_DUPFD_CLOEXEC, 0));
  const pid_t keeper_pid = start.keeper_pid;
  close(fetcher_.channel().server.get());
  fetcher_.Forget();
  if (executes) {
    ForgetEnvironment();  // the environment may contain keys
    ExecuteWorker(program_, WithOptions(options_, config_), start);
    beginning_.LogNoProgram();
  }
  if (errors_only_.empty()) RunWorker(options_, mountpoint_, std::move(start));
  RunCaretaker(options_, std::move(start),
               fmt::format("version: {}\nkeeper version: {}\npid: {}\nstart_format: {}\n"
                           "source: {}\nserves: {}\n",
                           ZARRFS_VERSION, ZARRFS_VERSION, keeper_pid, StartMessage::kFormat,
                           OneLine(options_.source.text()), OneLine(errors_only_)));
}

Result<void> Workers::Start(bool takes_over) {
  return Start(takes_over, errors_only_.empty() && program_);
}

bool Workers::WatchBegin() {
  fetcher_.WatchBegin();
  if (pid_ < 0 || cut_off_at_) return false;
  const auto step = beginning_.Tick();
  if (step == Beginning::Step::kKill) Kill();
  if (step != Beginning::Step::kLeaveBehind) return false;
  LeaveBehind();  // the file system of the worker's program does not answer
  beginning_.OnEnd(std::nullopt);
  return true;
}

bool Workers::StartForked() {
  if (!beginning_.HasFailed()) return false;
  last_end_.clear();
  const auto started = Start(takes_over_, /*executes=*/false);
  if (!started) spdlog::error("{}: {}", mountpoint_, started.error().message);
  return started.has_value();
}

Result<void> Workers::Start(bool takes_over, bool executes) {
  auto channel = Channel::MakePair();
  if (!channel) return Fail(ErrorCode::kIo, "cannot create a socket pair: {}", ErrnoText(errno));
  // With the option `debug`, the worker logs directly to standard error, so no line is dropped.
  Descriptor log = options_.debug ? Descriptor() : log_.Open();
  if (!log && !options_.debug)
    return Fail(ErrorCode::kIo, "cannot create a pipe for the worker's log: {}", ErrnoText(errno));
  const pid_t keeper = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Fail(ErrorCode::kIo, "cannot fork a worker: {}", ErrnoText(errno));
  if (pid == 0) {
    channel->first.Close();
    RunChild({.keeper = std::move(channel->second),
              .keeper_pid = keeper,
              .takes_over = takes_over,
              .log = std::move(log)},
             executes);
  }
  pid_ = pid;
  takes_over_ = takes_over;
  version_.clear();
  fetch_version_.reset();
  beginning_.OnStart(executes);
  killed_here_ = false;
  cut_off_at_.reset();
  heartbeat_.Reset();
  received_.clear();
  channel_.emplace(std::move(channel->first));
  start_at_.reset();
  return {};
}

void Workers::Kill() {
  killed_here_ = true;
  if (pid_ >= 0) kill(pid_, SIGKILL);
}

bool Workers::Expects(Message::Kind kind) {
  using enum Message::Kind;
  const auto has_sent = [&](Message::Kind each) {
    return std::ranges::find(received_, each) != received_.end();
  };
  if (kind == kBeat) return has_sent(kReady);
  if (kind != kStarted && kind != kOpened && kind != kReady && kind != kFailed) return false;
  if (has_sent(kind) || (kind == kReady && !has_sent(kOpened)) ||
      (kind == kStarted && !received_.empty())) {
    return false;
  }
  received_.push_back(kind);
  return true;
}

std::optional<Message> Workers::Receive() {
  if (fd() < 0) return std::nullopt;  // the worker was replaced in the meantime
  auto message = channel_->Receive();
  const auto beat =
      message && message->kind == Message::Kind::kBeat ? ParseBeat(message->text) : std::nullopt;
  if (message && Expects(message->kind) && (beat || message->kind != Message::Kind::kBeat)) {
    if (message->kind == Message::Kind::kStarted) {
      beginning_.OnBegun();
      fetch_version_ = message->numbers[0];
      version_ = OneLine(message->text);
    }
    if (!beat) return message;
    heartbeat_.OnBeat(*beat);
    LogAlarm();
    return std::nullopt;
  }
  cut_off_at_ = Clock::now();
  if (message) {
    spdlog::error("{}: unexpected message {} from the worker, which is killed", mountpoint_,
                  static_cast<uint32_t>(message->kind));
    Kill();
  }
  return std::nullopt;
}

bool Workers::IsDying() const { return pid_ >= 0 && HasDeadMainThread(pid_); }

bool Workers::IsPastServing() const {
  return IsDying() ||
         (pid_ >= 0 && ReadProc(pid_, "status").find("\nCoreDumping:\t1") != std::string::npos);
}

std::optional<Workers::End> Workers::TryReap() {
  if (!cut_off_at_) return std::nullopt;
  int status = 0;
  if (TEMP_FAILURE_RETRY(waitpid(pid_, &status, WNOHANG)) == 0) {
    // A process that exits closes its channel a moment before it can be reaped.
    if (!ends_soon() && !killed_here_) {
      spdlog::error("{}: the worker closed its channel but still runs, so it is killed",
                    mountpoint_);
      Kill();
    }
    return std::nullopt;
  }
  log_.Take(Clock::now());  // reads the worker's last lines
  pid_ = -1;
  channel_.reset();
  cut_off_at_.reset();
  heartbeat_.Reset();
  beginning_.OnEnd(status);
  if (WIFSIGNALED(status)) {
    last_end_ = fmt::format("was ended by signal {}", WTERMSIG(status));
    if (WTERMSIG(status) == SIGKILL && !killed_here_) killed_at_ = Clock::now();
    return End{true, WTERMSIG(status)};
  }
  const int code = WEXITSTATUS(status);
  if (!start_at_) {
    last_end_ = code == kExitDone ? "" : fmt::format("ended with exit code {}", code);
  }
  return End{false, code};
}

void Workers::LeaveBehind() {
  left_behind_.push_back(std::exchange(pid_, -1));
  channel_.reset();
  cut_off_at_.reset();
  heartbeat_.Reset();
  last_end_ = "was killed or crashed, and cannot end";
}

void Workers::ReapLeftBehind() {
  std::erase_if(left_behind_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

bool Workers::WasJustKilled() const {
  return killed_at_ && Clock::now() - *killed_at_ < kKillIsNews;
}

void Workers::NoteFailure(std::string_view reason) {
  last_end_ = fmt::format("could not take over: {}", reason);
  start_at_ = Clock::now() + kPauseAfterFailure;
}

void Workers::StartOrPlan() {
  if (const auto started = Start(/*takes_over=*/true); !started) {
    spdlog::error("{}: {}", mountpoint_, started.error().message);
    start_at_ = Clock::now() + kPauseAfterFailure;
  }
}

void Workers::StartOf(Descriptor program) {
  former_program_ = std::exchange(program_, std::move(program));
  errors_only_.clear();
  ends_.clear();
  last_end_.clear();
  fetcher_.Renew();
  StartOrPlan();
}

void Workers::GoBack() {
  program_ = std::move(former_program_);
  start_at_.reset();
  fetcher_.Renew();
}

std::string Workers::Replace() {
  const auto now = Clock::now();
  std::erase_if(ends_, [&](Clock::time_point end) { return now - end > kEndsPeriod; });
  ends_.push_back(now);
  if (last_end_.empty()) last_end_ = "ended";
  if (!errors_only_.empty()) {
    // Even the caretaker has ended. After a pause, another caretaker is started.
    start_at_ = now + kPauseAfterFailure;
  } else if (ends_.size() > kMaxEnds) {
    errors_only_ = fmt::format("errors only: {} workers ended within a minute, the last one {}",
                               ends_.size(), last_end_);
    start_at_.reset();
  }
  std::string line =
      fmt::format("{}: the worker {}; another one takes over", mountpoint_, last_end_);
  spdlog::error("{}", line);
  if (!start_at_) StartOrPlan();
  return line;
}

void Workers::CheckVersions() {
  const auto version = fetcher_.version();
  if (!version || !fetch_version_ || *version == *fetch_version_) return;
  spdlog::error(
      "{}: worker and fetcher have incompatible protocol versions, {} and {}; both are replaced by "
      "the version of the running program",
      mountpoint_, *fetch_version_, *version);
  program_.reset();
  fetcher_.End();
  fetch_version_.reset();
  Kill();
}

void Workers::LogAlarm() {
  if (const auto news = heartbeat_.News()) spdlog::warn("{}: the worker is {}", mountpoint_, *news);
}

void Workers::Attend() {
  log_.Take(Clock::now());
  fetcher_.Attend();
  CheckVersions();
  heartbeat_.OnTick(Clock::now());
  LogAlarm();
  if (start_at_ && !channel_ && Clock::now() >= *start_at_) StartOrPlan();
}

}  // namespace zarrfs
