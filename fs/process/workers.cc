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

#include "fs/ids/id_format.h"
#include "fs/options/exit_code.h"
#include "fs/process/environment.h"
#include "fs/process/worker.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

// A worker that ends is replaced, but not more often than so in kEndsPeriod.
constexpr size_t kMaxEnds = 5;
constexpr auto kEndsPeriod = std::chrono::seconds(60);
// How long after one that could not open the store the next one begins.
constexpr auto kPauseAfterFailure = std::chrono::seconds(2);
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

}  // namespace

void Workers::TakeOver(const HandOver& state) {
  pid_ = static_cast<pid_t>(state.worker);
  channel_.emplace(Inherited(state.channel));
  ids_ = Inherited(state.ids);
  source_ = Inherited(state.root);
  received_ = {Message::Kind::kOpened};
  for (const std::string& pid : state.stuck) left_behind_.push_back(std::stoi(pid));
}

void Workers::HandOverTo(HandOver& state) const {
  state.worker = static_cast<uint64_t>(pid_);
  state.channel = channel_ ? static_cast<uint64_t>(channel_->fd()) : HandOver::kNoDescriptor;
  state.ids = NumberFor(ids_);
  state.journal = IdFormat();
  state.root = NumberFor(source_);
  state.gives_errors = errors_only_.empty() ? 0 : 1;
  for (const pid_t pid : left_behind_) state.stuck.push_back(std::to_string(pid));
  // It ends with the worker; the next program starts another one.
  if (fetcher_.pid() >= 0) state.stuck.push_back(std::to_string(fetcher_.pid()));
}

Result<void> Workers::MakeJournal() {
  ids_.reset(memfd_create("zarrfs-ids", MFD_CLOEXEC));
  if (!ids_) return Fail(ErrorCode::kIo, "no descriptors: {}", ErrnoText(errno));
  return {};
}

void Workers::RunChild(WorkerStart start, bool executes) {
  // It stays over exec(2), in which the new program may hang before it can set it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.keeper_pid) _exit(kExitSystem);
  in_child_();
  log_.Close();
  start.ids = std::move(ids_);
  start.source = std::move(source_);
  start.fetch_socket.reset(fetcher_.channel().client.get());
  start.fetch_memory.reset(fetcher_.channel().memory.get());
  start.list.reset(fcntl(fetcher_.key_list().get(), F_DUPFD_CLOEXEC, 0));
  const pid_t keeper_pid = start.keeper_pid;
  close(fetcher_.channel().server.get());
  fetcher_.Forget();
  if (executes) {
    ForgetEnvironment();  // the new program gets none of it
    ExecuteWorker(program_, WithOptions(options_, config_), start);
    spdlog::warn(
        "{}: the program of the worker cannot be run: {}; the worker is a copy of its "
        "keeper's process",
        mountpoint_, ErrnoText(errno));
  }
  if (errors_only_.empty()) RunWorker(options_, mountpoint_, std::move(start));
  RunCaretaker(options_, std::move(start),
               fmt::format("version: {}\npid: {}\nhand_over: {}\nsource: {}\nserves: {}\n",
                           ZARRFS_VERSION, keeper_pid, HandOver::kFormat,
                           OneLine(options_.source.text()), OneLine(errors_only_)));
}

Result<void> Workers::Start(bool takes_over) {
  return Start(takes_over, errors_only_.empty() && program_);
}

bool Workers::WatchBegin() {
  if (pid_ < 0 || !executes_ || !received_.empty() || cut_off_at_) return false;
  if (++ticks_ == kBeginTicks) {
    spdlog::warn("{}: the program of the worker says nothing for {} s: it is killed", mountpoint_,
                 kBeginTicks);
    Kill();
  }
  if (ticks_ < kBeginTicks + kReapTicks) return false;
  LeaveBehind();  // its file system does not answer
  last_end_ = "was killed";
  began_ = false;
  return true;
}

bool Workers::StartForked() {
  if (std::exchange(began_, true)) return false;
  spdlog::warn(
      "{}: the program of the worker {} before it began; the worker is a copy of its "
      "keeper's process",
      mountpoint_, last_end_.empty() ? "ended" : last_end_);
  last_end_.clear();
  const auto started = Start(takes_over_, /*executes=*/false);
  if (!started) spdlog::error("{}: {}", mountpoint_, started.error().message);
  return started.has_value();
}

Result<void> Workers::Start(bool takes_over, bool executes) {
  auto channel = Channel::MakePair();
  if (!channel) return Fail(ErrorCode::kIo, "no descriptors: {}", ErrnoText(errno));
  // With the option debug it writes to standard error, as fast as it likes.
  Descriptor log = options_.debug ? Descriptor() : log_.Open();
  if (!log && !options_.debug) return Fail(ErrorCode::kIo, "no pipe: {}", ErrnoText(errno));
  const pid_t keeper = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Fail(ErrorCode::kIo, "no process: {}", ErrnoText(errno));
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
  executes_ = executes;
  began_ = true;
  killed_here_ = false;
  ticks_ = 0;
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
  if (fd() < 0) return std::nullopt;  // it was replaced in the meantime
  auto message = channel_->Receive();
  const auto beat =
      message && message->kind == Message::Kind::kBeat ? ParseBeat(message->text) : std::nullopt;
  if (message && Expects(message->kind) && (beat || message->kind != Message::Kind::kBeat)) {
    if (!beat) return message;
    heartbeat_.OnBeat(*beat);
    LogAlarm();
    return std::nullopt;
  }
  cut_off_at_ = Clock::now();
  if (message) {
    spdlog::error("{}: unexpected message {} from the worker: it is killed", mountpoint_,
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
    // A process that ends has closed its channel a moment before.
    if (!ends_soon() && !killed_here_) {
      spdlog::error("{}: the worker closed its channel and goes on: it is killed", mountpoint_);
      Kill();
    }
    return std::nullopt;
  }
  log_.Take(Clock::now());  // its last lines
  pid_ = -1;
  channel_.reset();
  cut_off_at_.reset();
  heartbeat_.Reset();
  // (Whoever kills a worker that has just begun says nothing about its program.)
  const bool was_killed =
      WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && ticks_ < kBeginTicks;
  began_ = !executes_ || !received_.empty() || was_killed;
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
  // An older program's fetcher ends with its worker, but for one that is stopped.
  for (const pid_t pid : left_behind_) kill(pid, SIGKILL);
  if (const auto started = Start(/*takes_over=*/true); !started) {
    spdlog::error("{}: {}", mountpoint_, started.error().message);
    start_at_ = Clock::now() + kPauseAfterFailure;
  }
}

std::string Workers::Replace() {
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
  std::string line =
      fmt::format("{}: the worker {}; another one takes over", mountpoint_, last_end_);
  spdlog::error("{}", line);
  if (!start_at_) StartOrPlan();
  return line;
}

void Workers::LogAlarm() {
  if (const auto news = heartbeat_.News()) spdlog::warn("{}: the worker is {}", mountpoint_, *news);
}

void Workers::Attend() {
  log_.Take(Clock::now());
  fetcher_.Attend();
  heartbeat_.OnTick(Clock::now());
  LogAlarm();
  if (start_at_ && !channel_ && Clock::now() >= *start_at_) StartOrPlan();
}

}  // namespace zarrfs
