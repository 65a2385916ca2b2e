#include "fs/process/upgrade.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "fs/fuse/connection.h"
#include "fs/ids/id_format.h"
#include "fs/mount/session.h"
#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/options/settings.h"
#include "fs/process/execution.h"
#include "fs/process/opening.h"
#include "zarrcore/os/open_process.h"

namespace zarrfs {
namespace {

constexpr auto kTrialLimit = std::chrono::seconds(10);
// How long a program that asks for an upgrade waits for the keeper to connect, and to report.
constexpr auto kConnectLimit = std::chrono::seconds(5);
constexpr auto kReportLimit = std::chrono::seconds(60);
constexpr std::string_view kTryWord = "--try";

// If a socket is bound without a name, its address is "\0" and five hexadecimal digits.
struct Address {
  sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t size = sizeof(sa_family_t);
};
constexpr size_t kDigits = 5;

Address AddressOf(int number) {
  Address address;
  fmt::format_to_n(address.name.sun_path + 1, kDigits, "{:05x}", number);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kDigits);
  return address;
}

Descriptor NewSocket() {
  return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// The credentials of the process at the other end. Its process id is 0 on failure.
ucred PeerOf(const Descriptor& socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return peer;
}

bool MayAsk(uid_t user) { return user == 0 || user == geteuid(); }

// Connects to the program that sent the signal to ask for something. Empty, with errno set, if its
// socket does not exist or its user may not ask.
Descriptor ConnectToAsker(const signalfd_siginfo& signal) {
  errno = EPERM;
  if (signal.ssi_code != SI_QUEUE || !MayAsk(signal.ssi_uid)) return {};
  const Address address = AddressOf(signal.ssi_int);
  Descriptor socket = NewSocket();
  if (!socket ||
      connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.name), address.size) != 0) {
    return {};
  }
  errno = EPERM;
  if (!MayAsk(PeerOf(socket).uid)) return {};
  fcntl(socket.get(), F_SETFL, 0);
  return socket;
}

[[noreturn]] void RunTrialProgram(const Descriptor& program, const StartMessage& state,
                                  const Descriptor& output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (static_cast<uint64_t>(getppid()) != state.keeper) _exit(kExitSystem);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(output.get(), STDOUT_FILENO);
  dup2(output.get(), STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ExecuteWith(program, kTryWord, state);
  PrintError(fmt::format("the new program cannot be run: {}", ErrnoText(errno)));
  _exit(kExitSystem);
}

}  // namespace

void Upgrade::OnSignal(const signalfd_siginfo& signal) {
  Descriptor socket = ConnectToAsker(signal);
  if (!socket) {
    spdlog::warn("signal {} of process {}: no connection to a program that asks for an upgrade: {}",
                 signal.ssi_signo, signal.ssi_pid, ErrnoText(errno));
    return;
  }
  Channel asker(std::move(socket));
  if (under_way_) {
    asker.Send({Message::Kind::kFailed, {}, "another upgrade is under way"});
    return;
  }
  if (asker_.fd() >= 0) {
    asker_.Send({Message::Kind::kFailed, {}, "another request has replaced this one"});
  }
  asker_ = std::move(asker);
}

Upgrade::Step Upgrade::Advance() {
  std::erase_if(killed_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
  if (trial_ >= 0) {
    int status = 0;
    if (waitpid(trial_, &status, WNOHANG) == trial_) return OnTrialEnd(status);
    if (Clock::now() < limit_) return Step::kNone;
    kill(trial_, SIGKILL);
    killed_.push_back(std::exchange(trial_, -1));
    Refuse(fmt::format("the new program could not open the store within {} s",
                       std::chrono::seconds(kTrialLimit).count()));
    return Step::kNone;
  }
  pollfd wait = {asker_.fd(), POLLIN, 0};
  if (asker_.fd() < 0 || poll(&wait, 1, 0) <= 0) return Step::kNone;
  auto message = asker_.Receive();
  const bool is_settings = message && message->kind == Message::Kind::kSettings;
  if (message && message->kind == Message::Kind::kState && !under_way_) return Step::kTell;
  const bool is_upgrade = message && message->kind == Message::Kind::kUpgrade && message->passed;
  if ((!is_settings && !is_upgrade) || under_way_) {
    asker_.Close();  // the asker is gone, or this request is not valid now
    return Step::kNone;
  }
  if (is_settings) {
    settings_ = std::move(message->text);
    return Step::kSet;
  }
  program_ = std::move(message->passed);
  under_way_ = true;
  return Step::kTry;
}

void Upgrade::Try(StartMessage state) {
  state.keeper = static_cast<uint64_t>(getpid());
  output_.reset(memfd_create("zarrfs-trial", MFD_CLOEXEC));
  if (output_) trial_ = fork();
  if (trial_ == 0) RunTrialProgram(program_, state, output_);
  if (trial_ < 0)
    return Refuse(fmt::format("the new program cannot be tried: {}", ErrnoText(errno)));
  trial_process_ = OpenProcess(trial_);
  limit_ = Clock::now() + kTrialLimit;
}

Upgrade::Step Upgrade::OnTrialEnd(int status) {
  trial_ = -1;
  trial_process_.reset();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitDone) return Step::kCommit;
  std::array<char, 2048> text = {};
  const ssize_t length = pread(output_.get(), text.data(), text.size(), 0);
  std::string reason = OneLine({text.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))});
  if (reason.starts_with("zarrfs: ")) reason.erase(0, std::strlen("zarrfs: "));
  if (WIFSIGNALED(status)) {
    reason =
        fmt::format("the new program was ended by signal {} when it was tried", WTERMSIG(status));
  } else if (reason.empty()) {
    reason = fmt::format("the new program ended with exit code {} when it was tried",
                         WEXITSTATUS(status));
  }
  Refuse(reason);
  return Step::kNone;
}

void Upgrade::ReportServed(const Result<void>& served) {
  if (!is_taken()) return;
  if (served) return End({Message::Kind::kReady});
  Refuse(fmt::format("the new program cannot serve: {}", served.error().message));
}

void Upgrade::End(const Message& report) {
  if (report.kind == Message::Kind::kFailed) spdlog::warn("no upgrade: {}", report.text);
  if (asker_.fd() >= 0) asker_.Send(report);
  *this = Upgrade(std::move(killed_));
}

namespace {

// Waits for a connection from the keeper; other processes are rejected.
Result<Channel> Accept(const Descriptor& listener, pid_t keeper, std::chrono::milliseconds time) {
  const auto limit = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left = limit - std::chrono::steady_clock::now();
    pollfd wait = {listener.get(), POLLIN, 0};
    if (left <= left.zero() ||
        poll(&wait, 1, static_cast<int>(left / std::chrono::milliseconds(1)) + 1) == 0) {
      return Fail(ErrorCode::kTimedOut,
                  "process {} does not answer (it may run in another network namespace)", keeper);
    }
    Descriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket && PeerOf(socket).pid == keeper) return Channel(std::move(socket));
  }
}

// Runs in the trial: checks that this program can serve the mount of the keeper.
Result<void> Try(const char* number) {
  auto taken = TakeStart(number, CheckTrialStart);
  LogToStderr("error");
  if (!taken) return Fail(taken);
  auto& [state, options] = *taken;
  if (state.journal != IdFormat()) {
    return Fail(ErrorCode::kUnsupported,
                "ids of open files: expected format {}, found {}: unmount and mount again instead",
                IdFormat(), state.journal);
  }
  if (WhyNoIoUring(options).empty()) {
    return Fail(ErrorCode::kUnsupported,
                "the new program would use io_uring, which a live mount cannot change to: unmount "
                "and mount again instead");
  }
  if (const std::string why =
          DifferentPromise(state.answer, AnswerOf(options, OnlyGiven(state.init, state.answer)));
      !why.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "the new program would make other promises to the kernel ({}): unmount and mount "
                "again instead",
                why);
  }
  OpenedFiles files{SecretsOf(state), Inherited(state.list)};
  return TryOpening(options, {Inherited(state.root), std::move(files)});
}

struct Limits {
  std::chrono::milliseconds connect = kConnectLimit;
  std::chrono::milliseconds report = kReportLimit;
};

// Sends a request to a keeper, and returns its report or the error that it reports.
Result<Message> Ask(pid_t keeper, const Message& request, int passed, Limits limits = {}) {
  const Descriptor listener = NewSocket();
  Address address;
  if (!listener ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.name), address.size) != 0 ||
      listen(listener.get(), 4) != 0) {
    return Fail(FromErrno(errno), "cannot create a socket: {}", ErrnoText(errno));
  }
  address.size = sizeof address.name;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address.name), &address.size) != 0) {
    return Fail(FromErrno(errno), "cannot read the address of a socket: {}", ErrnoText(errno));
  }
  int number = 0;
  std::from_chars(address.name.sun_path + 1, address.name.sun_path + 1 + kDigits, number, 16);
  if (sigqueue(keeper, SIGUSR1, sigval{.sival_int = number}) != 0) {
    return Fail(FromErrno(errno), "cannot send a signal to process {}: {}", keeper,
                ErrnoText(errno));
  }
  const auto channel = Accept(listener, keeper, limits.connect);
  if (!channel) return Fail(channel);
  channel->Send(request, passed);
  pollfd wait = {channel->fd(), POLLIN, 0};
  if (poll(&wait, 1, static_cast<int>(limits.report.count())) == 0) {
    return Fail(ErrorCode::kTimedOut, "process {}, the keeper, did not report a result in time",
                keeper);
  }
  auto report = channel->Receive();
  if (report && report->kind == Message::Kind::kReady) return *std::move(report);
  return Fail(ErrorCode::kIo, "{}", report ? report->text : "the mount ended without a report");
}

}  // namespace

Result<void> AskToSet(pid_t keeper, const std::string& settings) {
  if (const auto asked = Ask(keeper, {Message::Kind::kSettings, {}, settings}, -1); !asked) {
    return Fail(asked);
  }
  return {};
}

Result<std::string> AskForAlarm(pid_t keeper, dev_t mount) {
  constexpr auto kLimit = std::chrono::milliseconds(500);
  auto answer = Ask(keeper, {Message::Kind::kState}, -1, {kLimit, kLimit});
  if (!answer) return Fail(answer);
  if (answer->numbers[0] != mount) {
    return Fail(ErrorCode::kNotFound, "process {} is the keeper of another mount", keeper);
  }
  return std::move(answer->text);
}

Result<void> AskForUpgrade(pid_t keeper, const std::string& path) {
  const Descriptor program(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!program) return Fail(FromErrno(errno), "{}: {}", path, ErrnoText(errno));
  const auto asked = Ask(keeper, {Message::Kind::kUpgrade}, program.get());
  if (!asked) return Fail(asked);
  return {};
}

std::optional<int> RunAsTrial(int argc, char** argv) {
  if (argc < 3 || argv[1] != kTryWord) return std::nullopt;
  if (const auto tried = Try(argv[2]); !tried) {
    PrintError(tried.error().message);
    return kExitMountFailed;
  }
  return kExitDone;
}

}  // namespace zarrfs
