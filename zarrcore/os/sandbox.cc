#include "zarrcore/os/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>

#ifdef ZARRFS_SANITIZED
#include <sanitizer/common_interface_defs.h>

#include <cstdlib>
#include <string_view>
#endif

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/system_calls.h"

namespace zarrfs {
namespace {

// Declarations from the <linux/landlock.h> of the newest ABI. The headers of the build machine may
// be older. The system call numbers are the same on all architectures.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;

struct Ruleset {
  uint64_t files = 0;
  uint64_t network = 0;
  uint64_t scoped = 0;
};
struct [[gnu::packed]] PathRule {
  uint64_t allowed = 0;
  int32_t fd = -1;
};

constexpr uint64_t kWriteFile = 1 << 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadFolder = 1 << 3;
constexpr uint64_t kRemove = 1 << 4 | 1 << 5;  // removing folders, removing files
constexpr uint64_t kMake = 1 << 7 | 1 << 8;    // making folders, regular files
constexpr uint64_t kRenameElsewhere = 1 << 13;
constexpr uint64_t kTruncate = 1 << 14;
constexpr uint64_t kUseDevice = 1 << 15;  // ioctl
constexpr int kRenamingLandlock = 2;      // the first ABI that can allow renaming to other folders
constexpr uint64_t kTcp = 3;              // bind and connect
// Connecting to abstract sockets of processes outside the sandbox.
constexpr uint64_t kAbstractSocket = 1;
constexpr uint64_t kSignal = 2;  // sending signals to processes outside the sandbox

// The file access rights of a Landlock ABI. Newer ABIs only add rights.
uint64_t FileRights(int abi) {
  constexpr std::array<int, kNewestLandlock> kCounts = {13, 14, 15, 15, 16, 16};
  return (uint64_t{1} << kCounts[static_cast<size_t>(abi) - 1]) - 1;
}

void Allow(int ruleset, const std::string& path, uint64_t rights) {
  const Descriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status;
  if (!place || fstat(place.get(), &status) != 0) return;
  if (!S_ISDIR(status.st_mode)) rights &= ~kReadFolder;
  const PathRule rule{rights, place.get()};
  syscall(kAddRule, ruleset, kPathBeneath, &rule, 0);
}

#ifdef ZARRFS_SANITIZED
// Makes sanitizers open the file of log_path= now. By default, they open the file at the first
// report, which the sandbox forbids.
void OpenReports() {
  for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* const options = std::getenv(name);
    const std::string_view text = options != nullptr ? options : "";
    constexpr std::string_view kPath = "log_path=";
    const size_t at = text.find(kPath);
    if (at == std::string_view::npos) continue;
    const std::string_view path = text.substr(at + kPath.size());
    const int fd = open(fmt::format("{}.{}", path.substr(0, path.find(':')), getpid()).c_str(),
                        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) continue;
    __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
    return;
  }
}
#endif

}  // namespace

std::string SandboxState::Text() const {
  std::string text = landlock == 0 ? fmt::format("no landlock ({})", no_landlock)
                                   : fmt::format("landlock {}", landlock);
  // Names the rights that only newer ABIs can restrict.
  if (landlock > 0 && landlock < kNewestLandlock) {
    text += fmt::format(" (without {}{}{}signals)", landlock < 3 ? "truncate, " : "",
                        landlock < 4 ? "TCP, " : "", landlock < 5 ? "ioctl, " : "");
  }
  return text + (no_seccomp.empty() ? ", seccomp" : fmt::format(", no seccomp ({})", no_seccomp));
}

SandboxState RestrictFiles(const SandboxRules& rules, int newest_landlock) {
  SandboxState state;
#ifdef ZARRFS_SANITIZED
  OpenReports();
#endif
  const auto give_up = [&state] {
    state.no_landlock = errno == ENOSYS       ? "the kernel has none"
                        : errno == EOPNOTSUPP ? "switched off in this kernel"
                                              : ErrnoText(errno);
    return state;
  };
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const long known = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (known < 1) return give_up();
  const int abi = static_cast<int>(std::min<long>({known, newest_landlock, kNewestLandlock}));
  if (abi < kRenamingLandlock && !rules.changeable.empty()) {
    state.no_landlock = "the kernel's Landlock cannot allow renaming";
    return state;
  }
  const Ruleset all{.files = FileRights(abi),
                    .network = abi >= 4 && !rules.network ? kTcp : 0,
                    .scoped = abi >= 6 ? kAbstractSocket | kSignal : 0};
  const size_t size = abi >= 6   ? sizeof all
                      : abi >= 4 ? offsetof(Ruleset, scoped)
                                 : offsetof(Ruleset, network);
  const Descriptor ruleset(static_cast<int>(syscall(kCreateRuleset, &all, size, 0)));
  if (!ruleset) return give_up();
  for (const std::string& path : rules.readable) {
    Allow(ruleset.get(), path, kReadFile | kReadFolder);
  }
  for (const std::string& path : rules.writable) {
    Allow(ruleset.get(), path, (kReadFile | kWriteFile | kUseDevice) & all.files);
  }
  constexpr uint64_t kChange =
      kReadFile | kReadFolder | kWriteFile | kRemove | kMake | kRenameElsewhere | kTruncate;
  for (const std::string& path : rules.changeable) Allow(ruleset.get(), path, kChange & all.files);
  if (syscall(kRestrictSelf, ruleset.get(), 0) != 0) return give_up();
  state.landlock = abi;
  return state;
}

SandboxState EnterSandbox(const SandboxRules& rules, int newest_landlock) {
  tzset();  // makes the C library read the time zone file now, because it cannot in the sandbox
  SandboxState state = RestrictFiles(rules, newest_landlock);
  state.no_seccomp = RestrictSystemCalls(rules.io_uring, !rules.changeable.empty(), rules.sockets);
  return state;
}

SandboxState EnterFetcherSandbox(const SandboxRules& rules, bool starts_programs,
                                 int newest_landlock) {
  tzset();
  if (starts_programs) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return {.no_landlock = "the fetcher starts programs", .no_seccomp = RestrictCallsOfPrograms()};
  }
  SandboxState state = RestrictFiles(rules, newest_landlock);
  state.no_seccomp = RestrictFetcherCalls(!rules.changeable.empty());
  return state;
}

}  // namespace zarrfs
