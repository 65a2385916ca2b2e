#include "zarrcore/net/fetcher_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "zarrcore/disk/disk_cache.h"
#include "zarrcore/net/fetch_server.h"
#include "zarrcore/net/fetcher_sandbox.h"
#include "zarrcore/os/open_process.h"
#include "zarrcore/os/sandbox.h"

namespace zarrfs {
namespace {

// How long Kill() waits for the process to exit, in milliseconds. The process may be blocked in the
// kernel on a hung file system.
constexpr int kEndMs = 2000;

// Ignores the signals of a terminal or a service manager, which reach all processes of a mount.
// Only the keeper decides when these processes end.
void IgnoreSignals() {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE}) {
    sigaction(number, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Closes all inherited descriptors except those of `channel`. The parent may have others, such as
// the FUSE device, or a pipe whose reader waits for end of file.
FetchChannel CloseAllBut(const FetchChannel& channel) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  constexpr int kHigh = 100;  // above the standard descriptors
  const int server = fcntl(channel.server.get(), F_DUPFD_CLOEXEC, kHigh);
  const int memory = fcntl(channel.memory.get(), F_DUPFD_CLOEXEC, kHigh);
  const auto first = static_cast<unsigned>(std::min(server, memory));
  const auto last = static_cast<unsigned>(std::max(server, memory));
  close_range(STDERR_FILENO + 1, first - 1, 0);
  if (last - first > 1) close_range(first + 1, last - 1, 0);
  close_range(last + 1, ~0U, 0);
  return {Descriptor(), Descriptor(server), Descriptor(memory)};
}

const char* WhySameUser(const FetcherNeeds& needs, const DiskCache* disk) {
  if (needs.starts_programs) return "credential_process";
  return disk != nullptr ? "disk_cache" : "";
}

// Returns the rules of the sandbox. They allow changes only in the folder of the disk cache.
SandboxRules RulesFor(const FetcherNeeds& needs, const DiskCache* disk) {
  SandboxRules rules{.readable = needs.readable, .writable = {"/dev/null"}, .network = true};
  // Names the folder by its descriptor, because its path may lead to another folder since it was
  // opened.
  if (disk != nullptr) rules.changeable.push_back(fmt::format("/proc/self/fd/{}", disk->folder()));
  return rules;
}

bool IsSecret(std::string_view name) {
  return name.starts_with("AWS_") || name.ends_with("_proxy") || name.ends_with("_PROXY");
}

}  // namespace

void RunFetcher(const RemoteSource& of, const FetchChannel& channel, pid_t parent,
                const FetcherProcess::Confine& confine) {
  RemoteSource source = of;
  // Reads the files with secrets before the sandbox denies access to them, and before
  // CloseAllBut(), because the paths of these files may name descriptors.
  ForEachOrigin(source, ReadSecrets);
  const FetchChannel own = CloseAllBut(channel);
  std::unique_ptr<DiskCache> disk;
  if (const RemoteOptions& options = source.options; !options.disk_cache.empty()) {
    // If the disk cache cannot be opened, the parent has already reported the reason.
    auto opened = DiskCache::Open(options.disk_cache, options.disk_cache_size);
    if (opened) disk = *std::move(opened);
  }
  FetcherNeeds needs = NeedsOfFetcher(source);
  const std::string user = confine ? confine(WhySameUser(needs, disk.get())) : "";
  // Sets the parent-death signal again, because setuid(2) clears it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  // Prevents other processes of this user from reading this process's memory, which holds keys.
  prctl(PR_SET_DUMPABLE, 0);
  LoadLibrariesOfFetcher();
  const SandboxState state =
      EnterFetcherSandbox(RulesFor(needs, disk.get()), needs.starts_programs);
  FetchChannel::WriteNote(own.memory, fmt::format("{}, {}", state.Text(), user));
  std::function<void()> on_refused;
  if (confine) {
    // Without Landlock, this process can read a file even after it was replaced, so only the
    // secrets need watching.
    if (state.landlock == 0) needs.readable.clear();
    const ReplacementWatch watch(std::move(needs.readable), source);
    on_refused = [watch] { watch.LookNow(); };
  }
  RunFetchServer(source, own, std::move(disk), on_refused);
  // Exits without waiting for the other threads, because one may hang while it gets credentials.
  _exit(0);
}

void ForgetSecrets() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = text.find('=');
    if (equals == text.npos || !IsSecret(text.substr(0, equals))) continue;
    explicit_bzero(*variable + equals + 1, text.size() - equals - 1);
  }
}

FetcherProcess& FetcherProcess::operator=(FetcherProcess&& other) noexcept {
  Kill();
  pid_ = std::exchange(other.pid_, -1);
  ended_ = std::move(other.ended_);
  return *this;
}

Result<FetcherProcess> FetcherProcess::Start(const RemoteSource& source,
                                             const FetchChannel& channel, const Confine& confine,
                                             const Execute& execute) {
  const pid_t parent = getpid();
  std::fflush(nullptr);
  FetcherProcess process;
  process.pid_ = fork();
  if (process.pid_ < 0) return Fail(ErrorCode::kIo, "no process: {}", ErrnoText(errno));
  if (process.pid_ == 0) {
    IgnoreSignals();
    setpgid(0, 0);
    // The parent-death signal survives exec(2). Setting it here covers a program that hangs before
    // it can set the signal itself.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    if (execute) execute();
    RunFetcher(source, channel, parent, confine);
  }
  // Both the parent and the child call setpgid(2), because either may run first. The second call
  // has no effect.
  setpgid(process.pid_, process.pid_);
  process.ended_ = OpenProcess(process.pid_);
  return process;
}

std::optional<int> FetcherProcess::Kill() {
  if (pid_ <= 0) return std::nullopt;
  kill(-pid_, SIGKILL);
  pollfd ended = {ended_.get(), POLLIN, 0};
  if (ended_) TEMP_FAILURE_RETRY(poll(&ended, 1, kEndMs));
  int status = 0;
  const bool is_known = waitpid(pid_, &status, WNOHANG) == pid_;
  Forget();
  return is_known ? std::optional(status) : std::nullopt;
}

pid_t FetcherProcess::Release() {
  ended_.reset();
  return std::exchange(pid_, -1);
}

void FetcherProcess::Forget() {
  ended_.reset();
  pid_ = -1;
}

}  // namespace zarrfs
