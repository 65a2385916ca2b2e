#include "fs/daemon/mount_control.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "fs/daemon/log.h"
#include "zarrcore/base/descriptor.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

constexpr int kAnswerLimitMs = 1000;
constexpr int kFusermountLimitMs = 10000;
constexpr size_t kMaxOptionsText = size_t{1} << 14;  // of .zarrfs/options; fits into a pipe

// The wait status; a child that has not ended after `limit_ms` is killed.
int AwaitChild(pid_t pid, int limit_ms) {
  if (const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); process) {
    pollfd wait = {process.get(), POLLIN, 0};
    if (poll(&wait, 1, limit_ms) == 0) kill(pid, SIGKILL);
  }
  int status = 0;
  TEMP_FAILURE_RETRY(waitpid(pid, &status, 0));
  return status;
}

// Runs in the child of AskMount(). Copies .zarrfs/options to `output`; the result becomes the exit
// code.
MountState Ask(const Mounted& mounted, int output) {
  const std::string& path = mounted.path;
  // To other users, even root, the kernel may answer in place of the mount.
  if (geteuid() == 0 && mounted.user != 0 &&
      (setresgid(mounted.group, mounted.group, mounted.group) != 0 ||
       setresuid(mounted.user, mounted.user, mounted.user) != 0)) {
    return MountState::kHidden;
  }
  struct statvfs space = {};
  // The kernel never answers this call from its caches.
  if (statvfs(path.c_str(), &space) != 0) {
    if (errno == ENOTCONN || errno == ECONNABORTED) return MountState::kDead;
    return errno == EACCES || errno == EPERM ? MountState::kHidden : MountState::kAnswers;
  }
  const int options = open((path + "/.zarrfs/options").c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, kMaxOptionsText> text;
  const ssize_t length = options >= 0 ? read(options, text.data(), text.size()) : -1;
  if (length > 0) {
    [[maybe_unused]] const ssize_t written =
        write(output, text.data(), static_cast<size_t>(length));
  }
  return MountState::kAnswers;
}

Result<void> Fusermount(const std::string& path, bool detach) {
  const Descriptor said(memfd_create("zarrfs-fusermount", MFD_CLOEXEC));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, said ? said.get() : STDIN_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::array<std::string, 3> words = {"fusermount3", detach ? "-uz" : "-u", path};
  std::array<char*, 4> argv = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, "fusermount3", &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  std::string reason;
  int status = -1;
  if (failed == 0) {
    status = AwaitChild(pid, kFusermountLimitMs);
    std::array<char, 1024> text;
    const ssize_t length = said ? pread(said.get(), text.data(), text.size(), 0) : 0;
    reason = OneLine(std::string_view(text.data(), length > 0 ? static_cast<size_t>(length) : 0));
  }
  if (failed != 0) return Fail(ErrorCode::kIo, "fusermount3: {}", ErrnoText(failed));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
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
  MountAnswer answer;
  std::array<int, 2> pipe = {-1, -1};
  if (pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) return answer;
  const Descriptor output(pipe[0]);
  Descriptor input(pipe[1]);
  const pid_t child = fork();
  if (child == 0) _exit(static_cast<int>(Ask(mounted, input.get())));
  input.reset();
  if (child > 0) {
    const int status = AwaitChild(child, kAnswerLimitMs);
    answer.state =
        WIFEXITED(status) ? static_cast<MountState>(WEXITSTATUS(status)) : MountState::kSilent;
    std::array<char, kMaxOptionsText> buffer;
    const ssize_t length = read(output.get(), buffer.data(), buffer.size());
    answer.options.assign(buffer.data(), length > 0 ? static_cast<size_t>(length) : 0);
    const std::string number = answer.Option("pid");
    pid_t pid = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), pid).ec == std::errc()) {
      answer.pid = pid;
    }
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
