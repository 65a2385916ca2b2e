// The sandbox of a process that parses untrusted bytes: Landlock for files, TCP ports and signals,
// and seccomp (os/system_calls.h) for other system calls.
//
// An attacker who runs code through a bug in a codec or parser can read the files that the rules
// list and use the open descriptors. The attacker cannot execute a file, start or signal a process,
// change files that the rules do not list as writable or changeable, or, unless the rules allow it,
// use a network.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

struct SandboxRules {
  /// Files that may be read, and folders below which all files may be read. Missing paths are
  /// skipped. Only opening is restricted; names, sizes and times can be queried everywhere.
  std::vector<std::string> readable;
  /// Files that may be read and written, but neither created nor truncated.
  std::vector<std::string> writable = {};
  /// Folders below which files and folders may be created, read, written, renamed and removed.
  std::vector<std::string> changeable = {};
  /// True if TCP may be used.
  bool network = false;
  /// True if io_uring may be used.
  bool io_uring = false;
  /// The sockets on which messages can be sent and received, as descriptors; nullopt: all open
  /// sockets. No socket can be created, bound or connected.
  std::optional<std::vector<int>> sockets = {};
};

/// The parts of the sandbox that are in force. A kernel may lack either part.
struct SandboxState {
  int landlock = 0;         // the ABI in use; 0 if Landlock is not in force
  std::string no_landlock;  // why Landlock is not in force; "" if it is
  std::string no_seccomp;   // why seccomp is not in force; "" if it is

  /// A description such as "landlock 6, seccomp" or "landlock 3 (without TCP, ioctl, signals), no
  /// seccomp (built without libseccomp)".
  [[nodiscard]] std::string Text() const;
  [[nodiscard]] bool is_whole() const { return landlock > 0 && no_seccomp.empty(); }
};

/// The newest Landlock ABI that zarrfs uses (Linux 6.12).
inline constexpr int kNewestLandlock = 6;

/// The Landlock part of EnterSandbox(), exposed for tests.
[[nodiscard]] SandboxState RestrictFiles(const SandboxRules& rules,
                                         int newest_landlock = kNewestLandlock);

/// Permanently drops all rights that `rules` do not grant, from this process and its children. The
/// process must have one thread, and can gain no privileges afterwards. Open descriptors stay
/// usable. `newest_landlock`: the newest ABI that may be used.
[[nodiscard]] SandboxState EnterSandbox(const SandboxRules& rules,
                                        int newest_landlock = kNewestLandlock);

/// Like EnterSandbox(), for a process that uses the network (rules.network), with the system calls
/// of RestrictFetcherCalls(). `starts_programs`: the process runs programs of third parties, which
/// inherit the sandbox. Then Landlock is not used, `rules` are ignored, and only
/// RestrictCallsOfPrograms() restricts system calls.
[[nodiscard]] SandboxState EnterFetcherSandbox(const SandboxRules& rules, bool starts_programs,
                                               int newest_landlock = kNewestLandlock);

}  // namespace zarrfs
