#include "zarrcore/os/sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace zarrfs::sandbox_test {
namespace {

namespace fs = std::filesystem;

// The outcome of an attempt in a child: its errno, 0 if it succeeded, or kSignal + the number of
// the signal that killed the child.
constexpr int kSignal = 1000;
constexpr int kKilled = kSignal + SIGSYS;
using Attempt = std::function<long()>;

int WaitFor(pid_t child) {
  int status = 0;
  TEMP_FAILURE_RETRY(waitpid(child, &status, 0));
  return WIFSIGNALED(status) ? kSignal + WTERMSIG(status) : WEXITSTATUS(status);
}

int InChild(const Attempt& attempt) {
  const pid_t child = fork();
  if (child != 0) return WaitFor(child);
  errno = 0;
  _exit(attempt() < 0 ? errno : 0);
}

long Create(const fs::path& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

class SandboxTest : public testing::Test {
 protected:
  SandboxTest() {
    std::string name = fs::temp_directory_path() / "zarrfs-sandbox.XXXXXX";
    folder_ = mkdtemp(name.data());
    fs::create_directories(store_ = folder_ / "store/a");
    store_ = folder_ / "store";
    std::ofstream(store_ / "a/c") << "chunk";
    std::ofstream(secret_ = folder_ / "secret") << "secret";
  }
  ~SandboxTest() override { fs::remove_all(folder_); }

  [[nodiscard]] SandboxRules Rules() const {
    return {.readable = {store_, folder_ / "missing"}, .writable = {"/dev/null"}};
  }
  int InSandbox(const Attempt& attempt, int landlock = kNewestLandlock) const {
    return InChild([&] {
      static_cast<void>(EnterSandbox(Rules(), landlock));
      errno = 0;
      return attempt();
    });
  }
  int WithoutFilter(const Attempt& attempt, int landlock) const {
    return InChild([&] {
      static_cast<void>(RestrictFiles(Rules(), landlock));
      errno = 0;
      return attempt();
    });
  }
  // The parts of the sandbox that this machine supports.
  [[nodiscard]] SandboxState State() const {
    SandboxState state;
    std::array<int, 2> pipe = {};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    InChild([&] {
      const SandboxState in_child = EnterSandbox(Rules());
      const std::string text = in_child.no_seccomp;
      const int abi = in_child.landlock;
      return write(pipe[1], &abi, sizeof abi) + write(pipe[1], text.data(), text.size());
    });
    close(pipe[1]);
    EXPECT_EQ(read(pipe[0], &state.landlock, sizeof state.landlock), ssize_t{sizeof(int)});
    std::array<char, 200> text = {};
    const ssize_t length = read(pipe[0], text.data(), text.size());
    state.no_seccomp.assign(text.data(), static_cast<size_t>(std::max<ssize_t>(length, 0)));
    close(pipe[0]);
    return state;
  }

  fs::path folder_, store_, secret_;
};

TEST_F(SandboxTest, ReadsOnlyWhatIsNamed) {
  if (State().landlock == 0) GTEST_SKIP() << "no Landlock here";
  const auto read_at = [](const fs::path& path, int flags = O_RDONLY) {
    return [path, flags]() -> long { return open(path.c_str(), flags | O_CLOEXEC); };
  };
  for (const int abi : {1, 2, 4, 6}) {
    SCOPED_TRACE(abi);
    EXPECT_EQ(InSandbox(read_at(store_ / "a/c"), abi), 0);
    EXPECT_EQ(InSandbox(read_at(store_, O_RDONLY | O_DIRECTORY), abi), 0);
    EXPECT_EQ(InSandbox(read_at("/dev/null", O_RDWR), abi), 0);
    EXPECT_EQ(InSandbox(read_at(secret_), abi), EACCES);
    EXPECT_EQ(InSandbox(read_at(folder_, O_RDONLY | O_DIRECTORY), abi), EACCES);
    EXPECT_EQ(InSandbox(read_at("/etc/passwd"), abi), EACCES);
    // An O_PATH descriptor cannot be reopened for reading either.
    EXPECT_EQ(InSandbox(
                  [&]() -> long {
                    const int there = open(secret_.c_str(), O_PATH | O_CLOEXEC);
                    return open(("/proc/self/fd/" + std::to_string(there)).c_str(), O_RDONLY);
                  },
                  abi),
              EACCES);
  }
}

TEST_F(SandboxTest, OpenDescriptorsStayUsable) {
  const int fd = open(secret_.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(InSandbox([&] { return pwrite(fd, "public", 6, 0); }), 0);
  std::string text;
  std::ifstream(secret_) >> text;
  EXPECT_EQ(text, "public");
  close(fd);
}

TEST_F(SandboxTest, WritesMakesRemovesAndExecutesNothing) {
  const fs::path c = store_ / "a/c";
  const auto open_at = [](const fs::path& path, int flags) -> Attempt {
    return [path, flags]() -> long { return open(path.c_str(), flags | O_CLOEXEC); };
  };
  const std::vector<std::pair<const char*, Attempt>> attempts = {
      {"create", [&] { return Create(store_ / "new"); }},
      {"write", open_at(c, O_WRONLY)},
      {"write also", open_at(c, O_RDWR)},
      {"truncate on opening", open_at(c, O_RDONLY | O_TRUNC)},
      {"truncate", [&] { return truncate(c.c_str(), 1); }},
      {"make a folder", [&] { return mkdir((store_ / "new").c_str(), 0700); }},
      {"make a FIFO", [&] { return mkfifo((store_ / "new").c_str(), 0600); }},
      {"make a link", [&] { return symlink("c", (store_ / "new").c_str()); }},
      {"make a name", [&] { return link(c.c_str(), (store_ / "new").c_str()); }},
      {"rename", [&] { return rename(c.c_str(), (store_ / "a/d").c_str()); }},
      {"move", [&] { return rename(c.c_str(), (store_ / "d").c_str()); }},
      {"remove", [&] { return unlink(c.c_str()); }},
      {"remove a folder", [&] { return rmdir((store_ / "empty").c_str()); }},
      {"execute",
       [] {
         const char* const words[] = {"true", nullptr};
         return execv("/bin/true", const_cast<char* const*>(words));
       }},
  };
  if (const SandboxState state = State(); state.landlock < kNewestLandlock) {
    GTEST_SKIP() << "not all of Landlock is here: " << state.landlock;
  }
  for (const auto& [name, attempt] : attempts) {
    const auto make_again = [&] {
      fs::remove_all(store_);
      fs::create_directories(store_ / "a");
      fs::create_directories(store_ / "empty");
      std::ofstream(c) << "chunk";
    };
    make_again();
    EXPECT_EQ(InChild(attempt), 0) << name << ": works outside";
    for (const int abi : {1, 2, 4, 6}) {
      // Landlock restricts truncation from ABI 3 on.
      if (abi < 3 && std::string(name).starts_with("truncate")) continue;
      for (const bool whole : {false, true}) {
        make_again();
        const int outcome = whole ? InSandbox(attempt, abi) : WithoutFilter(attempt, abi);
        EXPECT_TRUE(outcome == EACCES || outcome == EXDEV || (whole && outcome == kKilled))
            << name << ", ABI " << abi << ": " << outcome;
        EXPECT_FALSE(fs::exists(store_ / "new")) << name;
        EXPECT_EQ(fs::file_size(c), 5U) << name;
      }
    }
  }
}

TEST_F(SandboxTest, ChangesWhatLiesInFoldersThatAreNamedForIt) {
  if (State().landlock < 3) GTEST_SKIP() << "not all of Landlock is here";
  const fs::path out = folder_ / "out";
  fs::create_directories(out);
  const auto in_sandbox = [&](const Attempt& attempt) {
    return InChild([&] {
      SandboxRules rules = Rules();
      rules.changeable = {out};
      static_cast<void>(EnterSandbox(rules));
      errno = 0;
      return attempt();
    });
  };
  EXPECT_EQ(in_sandbox([&]() -> long {
              const long file = Create(out / "partial");
              if (file < 0 || write(static_cast<int>(file), "x", 1) != 1) return -1;
              if (ftruncate(static_cast<int>(file), 0) != 0 || fsync(static_cast<int>(file)) != 0) {
                return -1;
              }
              if (mkdir((out / "a").c_str(), 0700) != 0) return -1;
              if (rename((out / "partial").c_str(), (out / "a/whole").c_str()) != 0) return -1;
              if (Create(out / "removed") < 0) return -1;
              return unlink((out / "removed").c_str());
            }),
            0);
  EXPECT_TRUE(fs::exists(out / "a/whole"));
  EXPECT_EQ(in_sandbox([&] { return Create(store_ / "new"); }), EACCES);
  EXPECT_EQ(in_sandbox([&] { return Create(folder_ / "new"); }), EACCES);
  EXPECT_EQ(in_sandbox([&] { return unlink((store_ / "a/c").c_str()); }), EACCES);
  EXPECT_NE(in_sandbox([&] { return rename((store_ / "a/c").c_str(), (out / "c").c_str()); }), 0);
  EXPECT_NE(in_sandbox([&] { return symlink("/etc/passwd", (out / "link").c_str()); }), 0);
  EXPECT_FALSE(fs::exists(out / "c"));
}

#ifndef ZARRFS_SANITIZED  // sanitizers start programs, so their builds have no filter

// The filter allows none of these calls.
TEST_F(SandboxTest, ForbiddenSystemCallKills) {
  if (const std::string why = State().no_seccomp; !why.empty()) GTEST_SKIP() << why;
  static std::array<char, 4096> room;
  const pid_t parent = getpid();
  const std::vector<std::pair<const char*, Attempt>> attempts = {
      {"fork", [] { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }},
      {"thread in another network",
       [] { return syscall(SYS_clone, CLONE_THREAD | CLONE_NEWNET, 0, 0, 0, 0); }},
      {"execve", [] { return syscall(SYS_execve, "/bin/true", nullptr, nullptr); }},
      {"execveat", [] { return syscall(SYS_execveat, -1, "/bin/true", nullptr, nullptr, 0); }},
      {"signal", [parent] { return kill(parent, 0); }},
      {"signal to a thread", [parent] { return syscall(SYS_tgkill, parent, parent, 0); }},
      {"signal by descriptor", [] { return syscall(SYS_pidfd_open, 1, 0); }},
      {"trace", [parent] { return ptrace(PTRACE_SEIZE, parent, 0, 0); }},
      {"memory of another",
       [parent] {
         iovec to = {room.data(), 1};
         return process_vm_readv(parent, &to, 1, &to, 1, 0);
       }},
      {"mount", [] { return mount("none", "/mnt", "tmpfs", 0, nullptr); }},
      {"new mount API", [] { return syscall(SYS_fsopen, "tmpfs", 0); }},
      {"unmount", [] { return umount2("/nowhere", 0); }},
      {"namespace", [] { return unshare(CLONE_NEWUSER); }},
      {"other namespace", [] { return setns(0, 0); }},
      {"root folder", [] { return chroot("/"); }},
      {"file by handle",
       [] { return syscall(SYS_open_by_handle_at, AT_FDCWD, room.data(), O_RDONLY); }},
      {"handle of a file",
       [] { return syscall(SYS_name_to_handle_at, AT_FDCWD, "/", room.data(), room.data(), 0); }},
      {"user", [] { return syscall(SYS_setuid, 0); }},
      {"users", [] { return syscall(SYS_setresuid, 0, 0, 0); }},
      {"capabilities", [] { return syscall(SYS_capset, room.data(), nullptr); }},
      {"owner", [] { return chown("/nowhere", 0, 0); }},
      {"mode", [] { return chmod("/nowhere", 0); }},
      {"limits of another",
       [parent] { return syscall(SYS_prlimit64, parent, RLIMIT_CORE, nullptr, nullptr); }},
      {"code",
       [] {
         return syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                        0);
       }},
      {"data as code", [] { return mprotect(room.data(), 1, PROT_READ | PROT_EXEC); }},
      {"another seccomp", [] { return syscall(SYS_seccomp, 0, 0, nullptr); }},
      {"speculation", [] { return syscall(SYS_prctl, 53 /*PR_SET_SPECULATION_CTRL*/, 0, 0, 0); }},
      {"io_uring", [] { return syscall(SYS_io_uring_setup, 1, room.data()); }},
      {"bpf", [] { return syscall(SYS_bpf, 0, room.data(), 0); }},
      {"perf", [] { return syscall(SYS_perf_event_open, room.data(), 0, 0, 0, 0); }},
      {"keys", [] { return syscall(SYS_keyctl, 0, 0); }},
      {"page faults", [] { return syscall(SYS_userfaultfd, 0); }},
      {"module", [] { return syscall(SYS_init_module, nullptr, 0, ""); }},
      {"terminal input", [] { return ioctl(0, TIOCSTI, "x"); }},
      {"personality", [] { return syscall(SYS_personality, 0); }},
  };
  for (const auto& [name, attempt] : attempts) {
    EXPECT_EQ(InSandbox(attempt), kKilled) << name;
  }
}

// Calls with many commands, such as fcntl(2), are allowed or forbidden by their arguments. Landlock
// restricts signals only from ABI 6 on.
TEST_F(SandboxTest, ArgumentsAreJudgedAtEachLandlock) {
  if (const std::string why = State().no_seccomp; !why.empty()) GTEST_SKIP() << why;
  std::array<int, 2> ends = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const int fd = ends[0];
  const int memory = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const auto control = [](int of, int command, long argument) -> Attempt {
    return [=] { return fcntl(of, command, argument); };
  };
  static rlimit limit = {};
  static int number = 1;
  const auto set_limit = [](int resource) -> Attempt {
    return [resource]() -> long {
      if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return -1;
      return syscall(SYS_prlimit64, 0, resource, &limit, nullptr);
    };
  };
  const std::vector<std::tuple<const char*, int, Attempt>> attempts = {
      {"F_SETOWN", kKilled, control(fd, F_SETOWN, getpid())},
      {"F_SETOWN_EX", kKilled, control(fd, 15, 0)},
      {"F_SETSIG", kKilled, control(fd, 10, SIGKILL)},
      {"F_SETFL with O_ASYNC", kKilled, control(fd, F_SETFL, O_ASYNC | O_NONBLOCK)},
      {"F_NOTIFY", kKilled, control(fd, 1026, 1)},
      {"F_SETLEASE", kKilled, control(fd, 1024, F_RDLCK)},
      {"F_SETPIPE_SZ", kKilled, control(fd, 1031, 1 << 20)},
      {"a lock", kKilled, control(fd, F_OFD_SETLK, 0)},
      {"F_DUPFD", 0, control(fd, F_DUPFD, 0)},
      {"F_DUPFD_CLOEXEC", 0, control(fd, F_DUPFD_CLOEXEC, 0)},
      {"F_GETFD", 0, control(fd, F_GETFD, 0)},
      {"F_SETFD", 0, control(fd, F_SETFD, FD_CLOEXEC)},
      {"F_GETFL", 0, control(fd, F_GETFL, 0)},
      {"F_SETFL", 0, control(fd, F_SETFL, O_NONBLOCK)},
      {"F_GET_SEALS", 0, control(memory, 1034, 0)},
      {"F_ADD_SEALS", 0, control(memory, 1033, 4)},
      {"FIOASYNC", kKilled, [fd] { return ioctl(fd, FIOASYNC, &number); }},
      {"FIOSETOWN", kKilled, [fd] { return ioctl(fd, FIOSETOWN, &number); }},
      {"SIOCSPGRP", kKilled, [fd] { return ioctl(fd, SIOCSPGRP, &number); }},
      {"dumpable", kKilled, [] { return prctl(PR_SET_DUMPABLE, 1); }},
      {"life without the parent", kKilled, [] { return prctl(PR_SET_PDEATHSIG, 0); }},
      {"who may trace", kKilled, [] { return prctl(PR_SET_PTRACER, 1); }},
      {"limit of files", EPERM, set_limit(RLIMIT_NOFILE)},
      {"limit of a file's size", EPERM, set_limit(RLIMIT_FSIZE)},
      {"limit of dumps", EPERM, set_limit(RLIMIT_CORE)},
      {"limit of memory", 0, set_limit(RLIMIT_DATA)},
      {"asking for a limit", 0, [] { return getrlimit(RLIMIT_STACK, &limit); }},
  };
  for (int abi = 1; abi <= kNewestLandlock; ++abi) {
    for (const auto& [name, expected, attempt] : attempts) {
      EXPECT_EQ(InSandbox(attempt, abi), expected) << name << ", ABI " << abi;
    }
  }
  for (const int each : {ends[0], ends[1], memory}) close(each);
}

// The attack for which F_SETOWN and F_SETSIG are forbidden: arriving input makes the kernel kill
// another process of this user.
TEST_F(SandboxTest, InputOfADescriptorSignalsNobodyAtEachLandlock) {
  if (const std::string why = State().no_seccomp; !why.empty()) GTEST_SKIP() << why;
  std::array<int, 2> ends = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  constexpr int kSetSignal = 10;  // F_SETSIG
  for (int abi = 0; abi <= kNewestLandlock; ++abi) {
    const pid_t victim = fork();
    if (victim == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      for (;;) pause();
    }
    const Attempt attack = [&]() -> long {
      if (fcntl(ends[0], F_SETOWN, victim) != 0 || fcntl(ends[0], kSetSignal, SIGKILL) != 0 ||
          fcntl(ends[0], F_SETFL, O_ASYNC) != 0) {
        return -1;
      }
      return send(ends[1], "x", 1, 0);
    };
    const int outcome = abi == 0 ? InChild(attack) : InSandbox(attack, abi);
    EXPECT_EQ(outcome, abi == 0 ? 0 : kKilled) << abi;
    if (abi != 0) kill(victim, SIGUSR2);
    EXPECT_EQ(WaitFor(victim), kSignal + (abi == 0 ? SIGKILL : SIGUSR2)) << abi;
  }
  for (const int each : ends) close(each);
}

// Newer C libraries try these calls and fall back.
TEST_F(SandboxTest, SomeSystemCallsFailAsIfTheKernelHadNone) {
  if (const std::string why = State().no_seccomp; !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(InSandbox([] { return syscall(SYS_clone3, nullptr, 0); }), ENOSYS);
  for (const int number : {454, 460, 511}) {
    EXPECT_EQ(InSandbox([=] { return syscall(number, 0, 0, 0, 0, 0, 0); }), ENOSYS) << number;
  }
}

// A descriptor sent out of the sandbox in a message outlives the process and its restrictions.
TEST_F(SandboxTest, NoSocketIsMadeAndOnlyThoseNamedAreUsed) {
  if (const std::string why = State().no_seccomp; !why.empty()) GTEST_SKIP() << why;
  static const sockaddr_un kLog = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
  static const auto* const address = reinterpret_cast<const sockaddr*>(&kLog);
  std::array<int, 2> ends = {}, others = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, others.data()), 0);
  const auto with = [&](const Attempt& attempt) {
    return InChild([&] {
      SandboxRules rules = Rules();
      rules.sockets = {ends[0]};
      static_cast<void>(EnterSandbox(rules));
      errno = 0;
      return attempt();
    });
  };
  for (const auto& [family, type] : {std::pair(AF_UNIX, SOCK_DGRAM),
                                     {AF_UNIX, SOCK_STREAM},
                                     {AF_INET, SOCK_STREAM},
                                     {AF_INET6, SOCK_DGRAM},
                                     {AF_NETLINK, SOCK_RAW},
                                     {AF_VSOCK, SOCK_STREAM}}) {
    EXPECT_EQ(with([&] { return socket(family, type, 0); }), EPERM) << family << ' ' << type;
    EXPECT_EQ(InSandbox([&] { return socket(family, type, 0); }), EPERM) << family << ' ' << type;
  }
  EXPECT_EQ(with([&] { return socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()); }), EPERM);
  EXPECT_EQ(with([&] { return connect(others[0], address, sizeof kLog); }), EPERM);
  EXPECT_EQ(with([&] { return bind(others[0], address, sizeof kLog); }), EPERM);
  iovec part = {const_cast<char*>("x"), 1};
  const msghdr message = {nullptr, 0, &part, 1, nullptr, 0, 0};
  EXPECT_EQ(with([&] { return sendmsg(ends[0], &message, 0); }), 0);
  EXPECT_EQ(with([&] { return sendmsg(others[0], &message, 0); }), kKilled);
  EXPECT_EQ(with([&] { return send(others[0], "x", 1, 0); }), kKilled);
  EXPECT_EQ(with([&] { return recv(others[0], part.iov_base, 1, MSG_DONTWAIT); }), kKilled);
  EXPECT_EQ(InSandbox([&] { return sendmsg(others[0], &message, 0); }), 0);
  for (const int each : {ends[0], ends[1], others[0], others[1]}) close(each);
}

#endif

TEST_F(SandboxTest, TcpIsRefusedByLandlockToo) {
  if (State().landlock < 4) GTEST_SKIP() << "needs Linux 6.7";
  // The socket is created outside the sandbox, as another process may pass one in.
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) GTEST_SKIP() << "no TCP here";
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(9);
  const auto connect_there = [&] {
    return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  };
  EXPECT_EQ(WithoutFilter(connect_there, 4), EACCES);
  EXPECT_NE(WithoutFilter(connect_there, 2), EACCES);
  const auto connect_if_allowed = [&] {
    static_cast<void>(RestrictFiles({.readable = {"/"}, .network = true}));
    return connect_there();
  };
  EXPECT_NE(InChild(connect_if_allowed), EACCES);
  close(fd);
}

TEST_F(SandboxTest, SignalsAreRefusedByLandlockToo) {
  if (State().landlock < 6) GTEST_SKIP() << "needs Linux 6.12";
  const pid_t parent = getpid();
  const auto signal_it = [parent] { return kill(parent, 0); };
  EXPECT_EQ(WithoutFilter(signal_it, 6), EPERM);
  EXPECT_EQ(WithoutFilter(signal_it, 4), 0);
}

TEST_F(SandboxTest, ServingIsAllowed) {
  const SandboxRules rules = Rules();
  const fs::path real = fs::canonical(store_);
  const int outcome = InChild([&]() -> long {
    static_cast<void>(EnterSandbox(rules));
    std::string failed;
    const auto need = [&failed](const char* what, bool worked) {
      if (!worked) failed += std::string(what) + ": " + std::strerror(errno) + "\n";
    };
    need("openat2", [&] {
      open_how how = {};
      how.flags = O_PATH;
      how.resolve = RESOLVE_BENEATH;
      const int root = open(store_.c_str(), O_PATH | O_DIRECTORY);
      return syscall(SYS_openat2, root, "a/c", &how, sizeof how) >= 0;
    }());
    int sum = 0;
    std::thread([&sum] { sum = 1; }).join();
    need("thread", sum == 1);
    std::vector<char> large(64 << 20, 'x');
    need("memory", large.back() == 'x');
    const int watch = inotify_init1(IN_CLOEXEC);
    need("inotify", inotify_add_watch(watch, store_.c_str(), IN_CREATE) >= 0);
    need("eventfd", eventfd(0, EFD_CLOEXEC) >= 0);
    need("memfd", memfd_create("x", MFD_CLOEXEC) >= 0);
    need("limit", [] {
      rlimit limit = {};
      return getrlimit(RLIMIT_DATA, &limit) == 0 && setrlimit(RLIMIT_DATA, &limit) == 0;
    }());
    need("signal to itself", raise(0) == 0);
    need("terminal", isatty(STDERR_FILENO) != 0 || errno == ENOTTY || errno == EACCES);
    std::error_code error;
    need("path", fs::canonical(store_, error) == real && fs::exists(store_));
    try {
      throw std::runtime_error("caught");
    } catch (const std::exception&) {
    }
    const time_t now = time(nullptr);
    tm local = {};
    need("time", localtime_r(&now, &local) != nullptr);
    std::fputs(failed.c_str(), stderr);
    return failed.empty() ? 0 : -1;
  });
  EXPECT_EQ(outcome, 0);
}

TEST(SandboxState, TextSaysWhatIsMissing) {
  EXPECT_EQ((SandboxState{6, "", ""}).Text(), "landlock 6, seccomp");
  EXPECT_EQ((SandboxState{4, "", ""}).Text(), "landlock 4 (without ioctl, signals), seccomp");
  EXPECT_EQ((SandboxState{2, "", "built without libseccomp"}).Text(),
            "landlock 2 (without truncate, TCP, ioctl, signals), no seccomp (built without "
            "libseccomp)");
  EXPECT_EQ((SandboxState{0, "the kernel has none", ""}).Text(),
            "no landlock (the kernel has none), seccomp");
}

}  // namespace
}  // namespace zarrfs::sandbox_test
