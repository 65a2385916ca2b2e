#include "fs/mount/mount_control.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "zarrcore/base/printable.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/open_process.h"

namespace zarrfs {
namespace {

constexpr int kAnswerLimitMs = 1000;
constexpr int kFusermountLimitMs = 10000;
constexpr size_t kMaxOutput = size_t{1} << 14;

struct ChildEnd {
  int status = -1;  // the wait status of the child
  std::string output;
};

// Runs `run(output descriptor)` in a child process, whose exit code is the result of `run`. The
// child is killed after `limit_ms`.
template <typename Run>
ChildEnd RunChild(int limit_ms, Run run) {
  ChildEnd end;
  const Descriptor output(memfd_create("zarrfs-child", MFD_CLOEXEC));
  const pid_t pid = fork();
  if (pid == 0) _exit(run(output.get()));
  if (pid < 0) return end;
  if (const Descriptor process = OpenProcess(pid)) {
    pollfd wait = {process.get(), POLLIN, 0};
    if (poll(&wait, 1, limit_ms) == 0) kill(pid, SIGKILL);
  }
  TEMP_FAILURE_RETRY(waitpid(pid, &end.status, 0));
  end.output.resize(kMaxOutput);
  const ssize_t length = pread(output.get(), end.output.data(), kMaxOutput, 0);
  end.output.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return end;
}

// Probes the mount, in the child process of AskMount(). Copies .zarrfs/options to `output`.
MountState Ask(const Mounted& mounted, int output) {
  const std::string& path = mounted.path;
  // For users other than the mounting user, including root, the kernel may answer without a request
  // to the mount, so root probes as the mounting user.
  if (geteuid() == 0 && mounted.user != 0 &&
      (setresgid(mounted.group, mounted.group, mounted.group) != 0 ||
       setresuid(mounted.user, mounted.user, mounted.user) != 0)) {
    return MountState::kHidden;
  }
  struct statvfs space = {};
  // For the mounting user, the kernel never answers statvfs(3) from its caches.
  if (statvfs(path.c_str(), &space) != 0) {
    if (errno == ENOTCONN || errno == ECONNABORTED) return MountState::kDead;
    return errno == EACCES || errno == EPERM ? MountState::kHidden : MountState::kAnswers;
  }
  const int options = open((path + "/.zarrfs/options").c_str(), O_RDONLY | O_CLOEXEC);
  if (options < 0 && (errno == EACCES || errno == EPERM)) return MountState::kHidden;
  sendfile(output, options, nullptr, kMaxOutput);
  return MountState::kAnswers;
}

Result<void> Fusermount(const std::string& path, bool detach) {
  const auto [status, output] = RunChild(kFusermountLimitMs, [&](int errors) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(errors >= 0 ? errors : null, STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execlp("fusermount3", "fusermount3", detach ? "-uz" : "-u", path.c_str(), nullptr);
    perror("fusermount3");
    return EXIT_FAILURE;
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string reason = OneLine(output);
  if (reason.find("resource busy") != std::string::npos) {
    return Fail(ErrorCode::kWouldBlock, "busy");
  }
  return Fail(ErrorCode::kIo, "{}", reason.empty() ? "fusermount3 gave no reason" : reason);
}

}  // namespace

std::string MountAnswer::Option(std::string_view name) const {
  const std::string begin = fmt::format("\n{}: ", name);
  const size_t at = ("\n" + options).find(begin);
  if (at == std::string::npos) return "";
  const size_t value = at + begin.size() - 1;
  return options.substr(value, options.find('\n', value) - value);
}

MountAnswer AskMount(const Mounted& mounted) {
  auto [status, output] =
      RunChild(kAnswerLimitMs, [&](int to) { return static_cast<int>(Ask(mounted, to)); });
  MountAnswer answer;
  answer.options = std::move(output);
  if (WIFEXITED(status)) answer.state = static_cast<MountState>(WEXITSTATUS(status));
  const std::string number = answer.Option("pid");
  pid_t pid = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), pid).ec == std::errc()) {
    answer.pid = pid;
  }
  return answer;
}

Result<void> Unmount(const std::string& path, bool detach) {
  if (geteuid() == 0) {
    if (umount2(path.c_str(), UMOUNT_NOFOLLOW | (detach ? MNT_DETACH : 0)) == 0) return {};
    if (errno == EBUSY) return Fail(ErrorCode::kWouldBlock, "busy");
    if (errno != EPERM) return Fail(FromErrno(errno), "{}", ErrnoText(errno));
  }
  return Fusermount(path, detach);
}

}  // namespace zarrfs
