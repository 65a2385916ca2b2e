#include "zarrcore/os/system_calls.h"

#include "zarrcore/base/result.h"

// The filter is only built for architectures that pass the arguments of all calls in the order that
// its rules assume. It is not built with sanitizers, which start programs.
#if defined(ZARRFS_SECCOMP) && !defined(ZARRFS_SANITIZED) && \
    (defined(__x86_64__) || defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64))

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <type_traits>

namespace zarrfs {
namespace {

// Calls that are allowed with any arguments. libseccomp uses negative numbers for calls that this
// architecture lacks.
constexpr int kAllowed[] = {
    // Calls made while answering a FUSE request. Their arguments are not checked, so the kernel's
    // bitmap allows them without running the filter.
    SCMP_SYS(pread64),
    SCMP_SYS(read),
    SCMP_SYS(writev),
    SCMP_SYS(write),
    SCMP_SYS(futex),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(openat2),
    SCMP_SYS(openat),
    SCMP_SYS(close),
    SCMP_SYS(getdents64),
    SCMP_SYS(lseek),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    // Calls on files. None of them renames or removes a file; Landlock forbids creating files and
    // opening them for writing.
    SCMP_SYS(readv),
    SCMP_SYS(preadv),
    SCMP_SYS(preadv2),
    SCMP_SYS(pwrite64),
    SCMP_SYS(open),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(getxattr),  // reads access control lists
    SCMP_SYS(lgetxattr),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(getcwd),
    SCMP_SYS(dup),
    SCMP_SYS(dup2),
    SCMP_SYS(dup3),
    SCMP_SYS(fadvise64),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fdatasync),
    SCMP_SYS(memfd_create),
    // Calls that wait for events.
    SCMP_SYS(inotify_init1),
    SCMP_SYS(inotify_add_watch),
    SCMP_SYS(inotify_rm_watch),
    SCMP_SYS(eventfd2),
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    // Memory management. AddConditions() allows mmap and mprotect.
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(membarrier),
    // Calls for threads and locks.
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(getcpu),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(restart_syscall),
    // Signals to the process itself. AddConditions() allows tgkill.
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigpending),
    SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(sigaltstack),
    // Calls that return times and properties of the process.
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(capget),
    SCMP_SYS(setsid),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage),
    SCMP_SYS(getrandom),
};
// Calls that are allowed only on the sockets in SandboxRules::sockets, because messages can carry
// descriptors out of the sandbox.
constexpr int kOnSockets[] = {SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(recvmsg),
                              SCMP_SYS(recvfrom), SCMP_SYS(setsockopt)};
// Calls that create, bind or connect sockets. They fail with EPERM.
constexpr int kNewSockets[] = {SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect),
                               SCMP_SYS(bind)};
// Calls of io_uring. libfuse creates a ring for each CPU, in memory of that CPU's NUMA node.
constexpr int kIoUring[] = {SCMP_SYS(io_uring_setup),
                            SCMP_SYS(io_uring_enter),
                            SCMP_SYS(io_uring_register),
                            SCMP_SYS(sched_setaffinity),
                            SCMP_SYS(get_mempolicy),
                            SCMP_SYS(set_mempolicy),
                            SCMP_SYS(mbind)};

// Additional calls of libcurl, the C library's resolver and OpenSSL. None of these calls accepts
// connections. AddNetworkSockets() adds socket(2) and socketpair(2).
constexpr int kNetwork[] = {
    SCMP_SYS(connect),     SCMP_SYS(bind),       SCMP_SYS(sendto),     SCMP_SYS(sendmsg),
    SCMP_SYS(sendmmsg),    SCMP_SYS(recvfrom),   SCMP_SYS(recvmsg),    SCMP_SYS(recvmmsg),
    SCMP_SYS(shutdown),    SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname),
    SCMP_SYS(getpeername), SCMP_SYS(pipe2),      SCMP_SYS(pipe),       SCMP_SYS(epoll_pwait2),
    SCMP_SYS(getresuid),   SCMP_SYS(getresgid),  SCMP_SYS(getpgrp),    SCMP_SYS(getpgid)};
// Calls of the disk cache in addition to kChangingFiles: locks, file times, free space.
constexpr int kDiskCache[] = {SCMP_SYS(flock), SCMP_SYS(utimensat), SCMP_SYS(fallocate)};
// The ioctl requests FIONREAD, FIONBIO, SIOCGIFINDEX and SIOCOUTQ.
constexpr unsigned kNetworkIoctls[] = {0x541b, 0x5421, 0x8933, 0x5411};

// Calls that kernel exploits have used and that credential programs do not need.
constexpr int kForPrograms[] = {SCMP_SYS(ptrace),
                                SCMP_SYS(process_vm_readv),
                                SCMP_SYS(process_vm_writev),
                                SCMP_SYS(pidfd_getfd),
                                SCMP_SYS(kcmp),
                                SCMP_SYS(mount),
                                SCMP_SYS(umount2),
                                SCMP_SYS(move_mount),
                                SCMP_SYS(open_tree),
                                SCMP_SYS(fsopen),
                                SCMP_SYS(fsconfig),
                                SCMP_SYS(fsmount),
                                SCMP_SYS(fspick),
                                SCMP_SYS(mount_setattr),
                                SCMP_SYS(pivot_root),
                                SCMP_SYS(chroot),
                                SCMP_SYS(setns),
                                SCMP_SYS(unshare),
                                SCMP_SYS(bpf),
                                SCMP_SYS(perf_event_open),
                                SCMP_SYS(userfaultfd),
                                SCMP_SYS(io_uring_setup),
                                SCMP_SYS(io_uring_enter),
                                SCMP_SYS(io_uring_register),
                                SCMP_SYS(open_by_handle_at),
                                SCMP_SYS(kexec_load),
                                SCMP_SYS(kexec_file_load),
                                SCMP_SYS(init_module),
                                SCMP_SYS(finit_module),
                                SCMP_SYS(delete_module),
                                SCMP_SYS(swapon),
                                SCMP_SYS(swapoff),
                                SCMP_SYS(reboot),
                                SCMP_SYS(settimeofday),
                                SCMP_SYS(clock_settime),
                                SCMP_SYS(adjtimex),
                                SCMP_SYS(acct),
                                SCMP_SYS(quotactl),
                                SCMP_SYS(syslog)};

// Calls that create folders, and rename, remove and sync files. Landlock decides in which folders.
constexpr int kChangingFiles[] = {SCMP_SYS(mkdir),     SCMP_SYS(mkdirat),   SCMP_SYS(rename),
                                  SCMP_SYS(renameat),  SCMP_SYS(renameat2), SCMP_SYS(unlink),
                                  SCMP_SYS(unlinkat),  SCMP_SYS(rmdir),     SCMP_SYS(fsync),
                                  SCMP_SYS(fdatasync), SCMP_SYS(syncfs)};

// System calls added in Linux 6.7 or later, from futex_wake on, have the same numbers on all
// architectures. They fail with ENOSYS, as on an older kernel, so a newer C library that tries them
// falls back.
constexpr int kFirstUnknown = 454;
constexpr int kLastUnknown = 511;

// The ioctl request FUSE_DEV_IOC_CLONE, and terminal queries (newer C libraries use TCGETS2).
constexpr unsigned kIoctls[] = {0x8004e500, TCGETS, 0x802c542a, TIOCGWINSZ};

// The allowed commands of fcntl(2). Other commands can send signals to any process of this user
// (F_SETOWN, F_SETSIG), report changes or take leases.
constexpr int kFcntl[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,    F_SETFD,
                          F_GETFL, F_GET_SEALS,     F_ADD_SEALS};

constexpr uint64_t kThread = CLONE_THREAD;
constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

struct Release {
  void operator()(void* filter) const { seccomp_release(filter); }
};

class Filter {
 public:
  // `other` is the action for calls to which no rule applies.
  explicit Filter(uint32_t other) : other_(other), context_(seccomp_init(other)) {}

  template <typename... Conditions>
  void Add(uint32_t action, int call, Conditions... conditions) {
    if (context_ == nullptr || error_ != 0 || action == other_) return;
    error_ = seccomp_rule_add(context_.get(), action, call, sizeof...(conditions), conditions...);
    if (error_ == -EEXIST) error_ = 0;  // the same rule was added before
  }
  template <typename... Conditions>
  void Allow(int call, Conditions... conditions) {
    Add(SCMP_ACT_ALLOW, call, conditions...);
  }

  // Loads the filter into the kernel. Returns 0, or an errno.
  int Load() {
    if (context_ == nullptr) return ENOMEM;
    // Use binary search instead of a chain of comparisons, and disable the mitigation of
    // speculative store bypass, which kernels before 5.16 would enable for the whole process.
    seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
    seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_SSB, 1);
    seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (error_ == 0) error_ = seccomp_load(context_.get());
    return -error_;
  }

 private:
  const uint32_t other_;
  std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, Release> context_;
  int error_ = 0;  // the first error of libseccomp, a negative errno; or 0
};

void AddDescriptorCalls(Filter& filter, bool changes_files) {
  for (const int command : kFcntl) {
    filter.Allow(SCMP_SYS(fcntl), SCMP_A1_32(SCMP_CMP_EQ, static_cast<uint32_t>(command)));
  }
  filter.Allow(SCMP_SYS(fcntl), SCMP_A1_32(SCMP_CMP_EQ, F_SETFL),
               SCMP_A2_64(SCMP_CMP_MASKED_EQ, O_ASYNC, 0));
  // The disk cache locks files while it writes them.
  if (changes_files) filter.Allow(SCMP_SYS(fcntl), SCMP_A1_32(SCMP_CMP_EQ, F_OFD_SETLK));
  for (const unsigned request : kIoctls) {
    filter.Allow(SCMP_SYS(ioctl), SCMP_A1_32(SCMP_CMP_EQ, request));
  }
}

// Allows reading all resource limits of the process, but setting only RLIMIT_DATA. The rules do not
// overlap, so it does not matter which rule libseccomp would prefer.
void AddLimits(Filter& filter) {
  constexpr auto kCall = SCMP_SYS(prlimit64);
  filter.Allow(kCall, SCMP_A0_64(SCMP_CMP_EQ, 0), SCMP_A1_64(SCMP_CMP_EQ, RLIMIT_DATA));
  filter.Allow(kCall, SCMP_A0_64(SCMP_CMP_EQ, 0), SCMP_A1_64(SCMP_CMP_NE, RLIMIT_DATA),
               SCMP_A2_64(SCMP_CMP_EQ, 0));
  filter.Add(SCMP_ACT_ERRNO(EPERM), kCall, SCMP_A0_64(SCMP_CMP_EQ, 0),
             SCMP_A1_64(SCMP_CMP_NE, RLIMIT_DATA), SCMP_A2_64(SCMP_CMP_NE, 0));
}

void AddSockets(Filter& filter, const std::optional<std::vector<int>>& sockets) {
  for (const int call : kNewSockets) filter.Add(SCMP_ACT_ERRNO(EPERM), call);
  for (const int call : kOnSockets) {
    if (!sockets) filter.Allow(call);
    for (const int fd : sockets.value_or(std::vector<int>())) {
      filter.Allow(call, SCMP_A0_32(SCMP_CMP_EQ, static_cast<uint32_t>(fd)));
    }
  }
}

// Adds rules for the calls that are allowed only with certain arguments.
void AddConditions(Filter& filter) {
  // Allow creating threads, but not processes or namespaces. The filter cannot inspect the
  // arguments of clone3, so that call fails.
  filter.Allow(SCMP_SYS(clone), SCMP_A0_64(SCMP_CMP_MASKED_EQ, kThread | kNamespaces, kThread));
  filter.Add(SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3));
  filter.Allow(SCMP_SYS(tgkill), SCMP_A0_64(SCMP_CMP_EQ, static_cast<uint64_t>(getpid())));
  // Forbid making memory executable, so only the program's own code can run.
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    filter.Allow(call, SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  }
  for (const int option : {PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ}) {
    filter.Allow(SCMP_SYS(prctl), SCMP_A0_32(SCMP_CMP_EQ, static_cast<uint32_t>(option)));
  }
  // Newer C libraries name memory with PR_SET_VMA. Make this call fail with EINVAL.
  constexpr unsigned kNameMemory = 0x53564d41;
  filter.Add(SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), SCMP_A0_32(SCMP_CMP_EQ, kNameMemory));
}

// Allows TCP and UDP sockets, and netlink sockets for querying the machine's addresses. Unix
// sockets stay forbidden, because many local services trust any client with the right user id, and
// Landlock does not restrict connecting to Unix sockets.
void AddNetworkSockets(Filter& filter) {
  constexpr uint64_t kTypes = 0xf;  // the bits of a socket's type, without the flags
  for (const int family : {AF_INET, AF_INET6}) {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
      filter.Allow(SCMP_SYS(socket), SCMP_A0_64(SCMP_CMP_EQ, static_cast<uint64_t>(family)),
                   SCMP_A1_64(SCMP_CMP_MASKED_EQ, kTypes, static_cast<uint64_t>(type)));
    }
  }
  filter.Allow(SCMP_SYS(socket), SCMP_A0_64(SCMP_CMP_EQ, AF_NETLINK),
               SCMP_A2_64(SCMP_CMP_EQ, 0 /*NETLINK_ROUTE*/));
  filter.Add(SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), SCMP_A0_64(SCMP_CMP_EQ, AF_UNIX));
  // libcurl uses a socket pair to wake up its own threads.
  filter.Allow(SCMP_SYS(socketpair), SCMP_A0_64(SCMP_CMP_EQ, AF_UNIX));
  for (const unsigned request : kNetworkIoctls) {
    filter.Allow(SCMP_SYS(ioctl), SCMP_A1_32(SCMP_CMP_EQ, request));
  }
}

// Makes the system calls from kFirstUnknown to kLastUnknown fail with ENOSYS.
void AddUnknown(Filter& filter) {
  for (int call = kFirstUnknown; call <= kLastUnknown; ++call) {
    filter.Add(SCMP_ACT_ERRNO(ENOSYS), call);
  }
}

std::string Load(Filter& filter) {
  const int error = filter.Load();
  return error == 0 ? "" : ErrnoText(error);
}

}  // namespace

std::string RestrictSystemCalls(bool io_uring, bool changes_files,
                                const std::optional<std::vector<int>>& sockets) {
  Filter filter(SCMP_ACT_KILL_PROCESS);
  for (const int call : kAllowed) filter.Allow(call);
  if (io_uring) {
    for (const int call : kIoUring) filter.Allow(call);
  }
  if (changes_files) {
    for (const int call : kChangingFiles) filter.Allow(call);
  }
  AddConditions(filter);
  AddDescriptorCalls(filter, changes_files);
  AddLimits(filter);
  AddSockets(filter, sockets);
  AddUnknown(filter);
  return Load(filter);
}

std::string RestrictFetcherCalls(bool changes_files) {
  Filter filter(SCMP_ACT_ERRNO(EPERM));
  for (const int call : kAllowed) filter.Allow(call);
  for (const int call : kNetwork) filter.Allow(call);
  if (changes_files) {
    for (const int call : kChangingFiles) filter.Allow(call);
    for (const int call : kDiskCache) filter.Allow(call);
  }
  AddConditions(filter);
  AddNetworkSockets(filter);
  AddDescriptorCalls(filter, changes_files);
  AddLimits(filter);
  AddUnknown(filter);
  return Load(filter);
}

std::string RestrictCallsOfPrograms() {
  Filter filter(SCMP_ACT_ALLOW);
  for (const int call : kForPrograms) filter.Add(SCMP_ACT_ERRNO(EPERM), call);
  return Load(filter);
}

std::string SystemCallFilterVersion() {
  const scmp_version* const version = seccomp_version();
  return fmt::format("libseccomp {}.{}.{}", version->major, version->minor, version->micro);
}

}  // namespace zarrfs

#else

namespace zarrfs {

#if defined(ZARRFS_SANITIZED)
constexpr const char* kWhyNot = "built with sanitizers";
#elif defined(ZARRFS_SECCOMP)
constexpr const char* kWhyNot = "not for this architecture";
#else
constexpr const char* kWhyNot = "built without libseccomp";
#endif

std::string RestrictSystemCalls(bool /*io_uring*/, bool /*changes_files*/,
                                const std::optional<std::vector<int>>& /*sockets*/) {
  return kWhyNot;
}

std::string RestrictFetcherCalls(bool /*changes_files*/) { return kWhyNot; }

std::string RestrictCallsOfPrograms() { return kWhyNot; }

std::string SystemCallFilterVersion() { return std::string("none: ") + kWhyNot; }

}  // namespace zarrfs

#endif
