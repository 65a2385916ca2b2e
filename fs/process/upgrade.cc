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
#include <cstdio>
#include <cstring>

#include "fs/fuse/connection.h"
#include "fs/ids/id_format.h"
#include "fs/mount/mountpoint.h"
#include "fs/mount/session.h"
#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/options/settings.h"
#include "fs/process/execution.h"
#include "fs/process/keeper.h"
#include "fs/process/opening.h"
#include "zarrcore/os/open_process.h"

namespace zarrfs {
namespace {

constexpr auto kTrialLimit = std::chrono::seconds(10);
// How long the keeper may take to come to the asker, and to report.
constexpr auto kConnectLimit = std::chrono::seconds(5);
constexpr auto kReportLimit = std::chrono::seconds(60);
constexpr std::string_view kTryWord = "--can-take-over";
constexpr std::string_view kGoWord = "--take-over";

// The kernel names a socket that is bound to nothing "\0" and five hexadecimal digits.
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

// Empty process id on failure.
ucred PeerOf(const Descriptor& socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return peer;
}

bool MayAsk(uid_t user) { return user == 0 || user == geteuid(); }

// The program at the other end of the address; empty, with errno, if it is not there or may not
// ask.
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

[[noreturn]] void RunTrialProgram(const Descriptor& program, const HandOver& state,
                                  const Descriptor& text, const Descriptor& output, pid_t keeper) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(kExitSystem);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(output.get(), STDOUT_FILENO);
  dup2(output.get(), STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  SetInherited(text.get(), true);
  if (state.root != HandOver::kNoDescriptor) SetInherited(static_cast<int>(state.root), true);
  Execute(program, {state.name, std::string(kTryWord), std::to_string(text.get())});
  PrintError(fmt::format("the new program cannot be run: {}", ErrnoText(errno)));
  _exit(kExitSystem);
}

// How ps(1) is to show the keeper.
std::vector<std::string> WordsOf(const HandOver& state, const Descriptor& text) {
  std::vector<std::string> words = {state.name, std::string(kGoWord), std::to_string(text.get()),
                                    state.source, state.mountpoint};
  MountOptions options;
  options.config = state.config;
  options.settings = state.settings;
  if (const std::string list = SettingsList(options); !list.empty()) {
    words.insert(words.end(), {"-o", list});
  }
  if (state.foreground != 0) words.emplace_back("-f");
  return words;
}

}  // namespace

void Upgrade::OnSignal(const signalfd_siginfo& signal) {
  Descriptor socket = ConnectToAsker(signal);
  if (!socket) {
    spdlog::warn("signal {} of process {}: nobody to upgrade to: {}", signal.ssi_signo,
                 signal.ssi_pid, ErrnoText(errno));
    return;
  }
  Channel asker(std::move(socket));
  if (under_way_) {
    asker.Send({Message::Kind::kFailed, {}, "another upgrade is under way"});
    return;
  }
  if (asker_.fd() >= 0) {
    asker_.Send({Message::Kind::kFailed, {}, "another upgrade was asked for meanwhile"});
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
    asker_.Close();  // it waits no longer
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

void Upgrade::Try(HandOver state) {
  state.name = NameOfThisProgram();
  state.asker = HandOver::kNoDescriptor;
  const Descriptor text = WriteDown(state);
  output_.reset(memfd_create("zarrfs-trial", MFD_CLOEXEC));
  const pid_t keeper = getpid();
  if (text && output_) trial_ = fork();
  if (trial_ == 0) RunTrialProgram(program_, state, text, output_, keeper);
  if (trial_ < 0) return Refuse(fmt::format("it cannot be tried: {}", ErrnoText(errno)));
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

void Upgrade::Commit(HandOver state) {
  state.name = NameOfThisProgram();
  if (asker_.fd() >= 0) state.asker = static_cast<uint64_t>(asker_.fd());
  const Descriptor text = WriteDown(state);
  if (!text) return Refuse(fmt::format("no memory file: {}", ErrnoText(errno)));
  spdlog::info("{}: hands over to the new program", state.mountpoint);
  spdlog::default_logger_raw()->flush();
  std::fflush(nullptr);
  for (const int fd : DescriptorsOf(state)) SetInherited(fd, true);
  SetInherited(text.get(), true);
  Execute(program_, WordsOf(state, text));
  const int error = errno;
  for (const int fd : DescriptorsOf(state)) SetInherited(fd, false);
  Refuse(fmt::format("the new program cannot be run: {}", ErrnoText(error)));
}

void Upgrade::ReportTakeOver(const Result<void>& served) {
  if (!under_way_ || program_) return;
  if (served) return End({Message::Kind::kReady});
  End({Message::Kind::kFailed,
       {},
       fmt::format("it has taken over, but cannot serve yet: {}",
                   OneLine(served.error().message))});
}

void Upgrade::End(const Message& report) {
  if (report.kind == Message::Kind::kFailed) spdlog::warn("no upgrade: {}", report.text);
  if (asker_.fd() >= 0) asker_.Send(report);
  *this = Upgrade(std::move(killed_));
}

namespace {

// Waits for the keeper to connect; nobody else may.
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

int FailTo(const Error& error) {
  PrintError(error.message);
  return kExitMountFailed;
}

// In the trial.
Result<void> CheckTakeOver(const char* number) {
  auto state = Take(number);
  if (!state) return Fail(state);
  const auto options = OptionsOf(*state);
  if (!options) return Fail(options);
  if (state->journal != IdFormat()) {
    return Fail(ErrorCode::kUnsupported,
                "ids of open files: expected format {}, found {}: unmount and mount again instead",
                IdFormat(), state->journal);
  }
  if (WhyNoIoUring(*options).empty()) {
    return Fail(ErrorCode::kUnsupported,
                "io_uring would be used now, which no mount can change to");
  }
  if (const std::string why = DifferentPromise(
          state->answer, AnswerOf(*options, OnlyGiven(state->init, state->answer)));
      !why.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "the new program would tell the kernel something else ({}): unmount and mount "
                "again instead",
                why);
  }
  return TryOpening(*options, Inherited(state->root));
}

int TakeOver(const char* number) {
  // exec(2) of a descriptor names the process after its number.
  prctl(PR_SET_NAME, "zarrfs");
  auto state = Take(number);
  if (!state) return FailTo(state.error());
  if (const auto checked = CheckInherited(*state); !checked) return FailTo(checked.error());
  const auto options = OptionsOf(*state);
  if (!options) return FailTo(options.error());
  LogToStderr(options->log_level);
  if (!options->foreground) LeaveTerminal(options->mountpoint);
  const int code = ResumeKeeper(*options, *state, OpenThisProgram());
  if (options->makes_mountpoint) MadeMountPoint::Take(options->mountpoint).Remove();
  return code;
}

struct Limits {
  std::chrono::milliseconds connect = kConnectLimit;
  std::chrono::milliseconds report = kReportLimit;
};

// Sends the request to a keeper, and fails with what that reports.
Result<Message> Ask(pid_t keeper, const Message& request, int passed, Limits limits = {}) {
  const Descriptor listener = NewSocket();
  Address address;
  if (!listener ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.name), address.size) != 0 ||
      listen(listener.get(), 4) != 0) {
    return Fail(FromErrno(errno), "no socket: {}", ErrnoText(errno));
  }
  address.size = sizeof address.name;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address.name), &address.size) != 0) {
    return Fail(FromErrno(errno), "no socket: {}", ErrnoText(errno));
  }
  int number = 0;
  std::from_chars(address.name.sun_path + 1, address.name.sun_path + 1 + kDigits, number, 16);
  if (sigqueue(keeper, SIGUSR1, sigval{.sival_int = number}) != 0) {
    return Fail(FromErrno(errno), "process {} cannot be told: {}", keeper, ErrnoText(errno));
  }
  const auto channel = Accept(listener, keeper, limits.connect);
  if (!channel) return Fail(channel);
  channel->Send(request, passed);
  pollfd wait = {channel->fd(), POLLIN, 0};
  if (poll(&wait, 1, static_cast<int>(limits.report.count())) == 0) {
    return Fail(ErrorCode::kTimedOut, "process {} does not report", keeper);
  }
  auto report = channel->Receive();
  if (report && report->kind == Message::Kind::kReady) return *std::move(report);
  return Fail(ErrorCode::kIo, "{}", report ? report->text : "its process has ended");
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

std::optional<int> RunAsNextProgram(int argc, char** argv) {
  const std::string_view word = argc > 2 ? argv[1] : "";
  if (word != kTryWord && word != kGoWord) return std::nullopt;
  LogToStderr("error");
  if (word == kGoWord) return TakeOver(argv[2]);
  const auto can = CheckTakeOver(argv[2]);
  return can ? kExitDone : FailTo(can.error());
}

}  // namespace zarrfs
