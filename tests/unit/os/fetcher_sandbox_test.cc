// Attacks that a fetcher in its sandbox cannot carry out, even if an attacker controls it and it
// runs as root.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "zarrcore/os/sandbox.h"

namespace zarrfs::fetcher_sandbox_test {
namespace {

namespace fs = std::filesystem;

using Attempt = std::function<long()>;
constexpr int kSignal = 1000;  // InChild() returns kSignal + N if signal N killed the child

int InChild(const Attempt& attempt) {
  const pid_t child = fork();
  if (child == 0) {
    errno = 0;
    _exit(attempt() < 0 ? errno : 0);
  }
  int status = 0;
  TEMP_FAILURE_RETRY(waitpid(child, &status, 0));
  return WIFSIGNALED(status) ? kSignal + WTERMSIG(status) : WEXITSTATUS(status);
}

class FetcherSandboxTest : public testing::Test {
 protected:
  FetcherSandboxTest() {
    std::string name = fs::temp_directory_path() / "zarrfs-fetcher.XXXXXX";
    folder_ = mkdtemp(name.data());
    fs::create_directories(folder_ / "keys");
    fs::create_directories(folder_ / "cache");
    std::ofstream(folder_ / "keys/credentials") << "key";
    std::ofstream(folder_ / "secret") << "secret";
  }
  ~FetcherSandboxTest() override { fs::remove_all(folder_); }

  int InSandbox(const Attempt& attempt, int landlock = kNewestLandlock, bool has_cache = false) {
    SandboxRules rules{.readable = {folder_ / "keys", "/etc/hosts", "/etc/nsswitch.conf"},
                       .writable = {"/dev/null"},
                       .network = true};
    if (has_cache) rules.changeable = {folder_ / "cache"};
    return InChild([&] {
      state_ = EnterFetcherSandbox(rules, /*starts_programs=*/false, landlock);
      errno = 0;
      return attempt();
    });
  }
  Attempt Open(const std::string& name, int flags = O_RDONLY) const {
    return [path = folder_ / name, flags] { return open(path.c_str(), flags | O_CLOEXEC, 0600); };
  }
  static bool HasFilter() {
    return InChild([]() -> long {
             const SandboxRules none{.readable = {}, .network = true};
             const SandboxState state = EnterFetcherSandbox(none, /*starts_programs=*/false);
             errno = ENOSYS;
             return state.no_seccomp.empty() ? 0 : -1;
           }) == 0;
  }
  static bool HasLandlock() {
    return InChild([]() -> long {
             errno = ENOSYS;
             return RestrictFiles({.readable = {}}).landlock == kNewestLandlock ? 0 : -1;
           }) == 0;
  }

  fs::path folder_;
  SandboxState state_;
};

TEST_F(FetcherSandboxTest, FilesAtEachLandlock) {
  if (!HasLandlock()) GTEST_SKIP() << "not all of Landlock is here";
  const pid_t parent = getpid();
  const std::string memory = "/proc/" + std::to_string(parent) + "/mem";
  const std::vector<std::tuple<const char*, int, Attempt>> attempts = {
      {"a file with keys", 0, Open("keys/credentials")},
      {"a new file with keys", 0,
       [this]() -> long {
         return Open("keys/credentials")() < 0 ? -1 : Open("keys", O_RDONLY | O_DIRECTORY)();
       }},
      {"a file beside", EACCES, Open("secret")},
      {"the folder above", EACCES, Open("", O_RDONLY | O_DIRECTORY)},
      {"accounts", EACCES, [] { return open("/etc/shadow", O_RDONLY | O_CLOEXEC); }},
      {"writing keys", EACCES, Open("keys/credentials", O_WRONLY)},
      {"making a file", EACCES, Open("keys/new", O_WRONLY | O_CREAT)},
      {"memory of another", EACCES,
       [memory] { return open(memory.c_str(), O_RDONLY | O_CLOEXEC); }},
  };
  for (int abi = 1; abi <= kNewestLandlock; ++abi) {
    for (const auto& [name, expected, attempt] : attempts) {
      EXPECT_EQ(InSandbox(attempt, abi), expected) << name << ", ABI " << abi;
    }
  }
}

#ifndef ZARRFS_SANITIZED  // sanitizers start programs, so their builds have no filter

// Many local services trust any client that runs as root or as a certain user.
TEST_F(FetcherSandboxTest, LocalServicesAreOutOfReachAtEachLandlock) {
  if (!HasFilter()) GTEST_SKIP() << "no filter of system calls here";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = folder_ / "service";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int service = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(service, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(service, 1), 0);
  const Attempt ask = [&]() -> long {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  };
  EXPECT_EQ(InChild(ask), 0) << "works outside";
  for (int abi = 1; abi <= kNewestLandlock; ++abi) {
    EXPECT_EQ(InSandbox(ask, abi), EACCES) << abi;
    for (const int type : {SOCK_DGRAM, SOCK_SEQPACKET}) {
      EXPECT_EQ(InSandbox([type] { return socket(AF_UNIX, type, 0); }, abi), EACCES) << abi;
    }
  }
  close(service);
}

// A forbidden call fails but does not kill, because libraries try calls that they do not require.
TEST_F(FetcherSandboxTest, ForbiddenSystemCallFailsAtEachLandlock) {
  if (!HasFilter()) GTEST_SKIP() << "no filter of system calls here";
  const pid_t parent = getpid();
  static const char* const kWords[] = {"true", nullptr};
  static std::array<char, 4096> room;
  std::array<int, 2> ends = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const int program = memfd_create("program", MFD_CLOEXEC);
  ASSERT_GT(write(program, "#!/bin/true\n", 12), 0);
  const std::vector<std::pair<const char*, Attempt>> attempts = {
      {"execve", [] { return execve("/bin/true", const_cast<char* const*>(kWords), environ); }},
      {"execveat of memory",
       [program] { return syscall(SYS_execveat, program, "", kWords, environ, AT_EMPTY_PATH); }},
      {"fork", [] { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }},
      {"signal", [parent] { return kill(parent, 0); }},
      {"signal by a descriptor", [&] { return fcntl(ends[0], F_SETOWN, parent); }},
      {"process by descriptor", [parent] { return syscall(SYS_pidfd_open, parent, 0); }},
      {"trace", [parent] { return ptrace(PTRACE_SEIZE, parent, 0, 0); }},
      {"waiting for connections",
       []() -> long {
         const int fd = socket(AF_INET, SOCK_STREAM, 0);
         return fd < 0 ? -1 : listen(fd, 1);
       }},
      {"packets", [] { return socket(AF_PACKET, SOCK_DGRAM, 0); }},
      {"raw", [] { return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); }},
      {"netlink of devices", [] { return socket(AF_NETLINK, SOCK_RAW, 15); }},
      {"vsock", [] { return socket(AF_VSOCK, SOCK_STREAM, 0); }},
      {"code", [] { return mprotect(room.data(), 1, PROT_READ | PROT_EXEC); }},
      {"mount", [] { return syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, nullptr); }},
      {"namespace", [] { return unshare(CLONE_NEWUSER); }},
      {"user", [] { return syscall(SYS_setuid, 0); }},
      {"bpf", [] { return syscall(SYS_bpf, 0, room.data(), 0); }},
      {"io_uring", [] { return syscall(SYS_io_uring_setup, 1, room.data()); }},
      {"keys", [] { return syscall(SYS_keyctl, 0, 0); }},
      {"removing a file", [this] { return unlink((folder_ / "secret").c_str()); }},
  };
  for (int abi = 1; abi <= kNewestLandlock; ++abi) {
    for (const auto& [name, attempt] : attempts) {
      EXPECT_EQ(InSandbox(attempt, abi), EPERM) << name << ", ABI " << abi;
    }
  }
  EXPECT_TRUE(fs::exists(folder_ / "secret"));
  for (const int fd : {ends[0], ends[1], program}) close(fd);
}

// Programs of third parties inherit the filter.
TEST_F(FetcherSandboxTest, ProgramsThatFindKeysRunButDoNotAttack) {
  if (!HasFilter()) GTEST_SKIP() << "no filter of system calls here";
  const auto in_sandbox = [](const Attempt& attempt) {
    return InChild([&] {
      static_cast<void>(EnterFetcherSandbox({.readable = {}}, /*starts_programs=*/true));
      errno = 0;
      return attempt();
    });
  };
  EXPECT_EQ(in_sandbox([] { return -std::system("cat /etc/hosts > /dev/null"); }), 0);
  EXPECT_EQ(in_sandbox([] { return socket(AF_UNIX, SOCK_STREAM, 0); }), 0);
  EXPECT_EQ(in_sandbox([] { return ptrace(PTRACE_TRACEME, 0, 0, 0); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return unshare(CLONE_NEWUSER); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return syscall(SYS_bpf, 0, nullptr, 0); }), EPERM);
}

#endif

TEST_F(FetcherSandboxTest, FetchingIsAllowed) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(server, where, length), 0);
  ASSERT_EQ(listen(server, 1), 0);
  ASSERT_EQ(getsockname(server, where, &length), 0);
  const Attempt fetch = [&]() -> long {
    std::array<int, 2> ends = {};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return -1;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, where, length) != 0 || send(fd, "x", 1, 0) != 1) return -1;
    addrinfo* found = nullptr;
    if (getaddrinfo("localhost", "80", nullptr, &found) != 0) return -1;
    freeaddrinfo(found);
    int sum = 0;
    std::thread([&sum] { sum = 1; }).join();
    return sum - 1;
  };
  EXPECT_EQ(InSandbox(fetch), 0);
  const Attempt keep = [&]() -> long {
    const fs::path cache = folder_ / "cache";
    if (mkdir((cache / "new").c_str(), 0700) != 0) return -1;
    const long file = Open("cache/new/a", O_RDWR | O_CREAT | O_EXCL)();
    if (file < 0 || write(static_cast<int>(file), "x", 1) != 1) return -1;
    if (futimens(static_cast<int>(file), nullptr) != 0) return -1;
    if (rename((cache / "new/a").c_str(), (cache / "a").c_str()) != 0) return -1;
    return unlink((cache / "a").c_str());
  };
  close(server);
  if (!HasLandlock()) GTEST_SKIP() << "not all of Landlock is here";
  EXPECT_EQ(InSandbox(keep, kNewestLandlock, /*has_cache=*/true), 0);
}

}  // namespace
}  // namespace zarrfs::fetcher_sandbox_test
