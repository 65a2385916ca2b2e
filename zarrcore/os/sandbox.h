// The sandbox of a process that parses untrusted bytes: Landlock for files, TCP ports and signals,
// seccomp (os/system_calls.h) for the other system calls.
//
// An attacker who runs code through a bug in a codec or parser can read the files listed here and
// use the open descriptors. He cannot write, create, remove or execute files (except in folders
// listed for that), start or signal a process, or reach a network.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

struct SandboxRules {
  /// Files, and folders with everything below them, that may be read. Missing ones are skipped.
  /// Only opening is restricted: names, sizes and times can be queried everywhere.
  std::vector<std::string> readable;
  /// Files that may be read and written, but neither made nor truncated.
  std::vector<std::string> writable = {};
  /// Folders below which files and folders may be made, read, written, renamed and removed.
  std::vector<std::string> changeable = {};
  /// Whether TCP may be used.
  bool network = false;
  /// Whether io_uring may be used.
  bool io_uring = false;
  /// The numbers of the sockets that may be used: no other descriptor can send or receive messages.
  /// nullopt: all open ones. No socket can be created, bound or connected.
  std::optional<std::vector<int>> sockets = {};
};

/// The parts of the sandbox in force. A kernel may lack either.
struct SandboxState {
  int landlock = 0;         // the ABI in use; 0: none
  std::string no_landlock;  // why there is none
  std::string no_seccomp;   // likewise; "": it is in force

  /// "landlock 6, seccomp", "landlock 2 (without TCP, ioctl, signals), no seccomp (not built in)".
  [[nodiscard]] std::string Text() const;
  [[nodiscard]] bool is_whole() const { return landlock > 0 && no_seccomp.empty(); }
};

/// The newest Landlock ABI used (Linux 6.12).
inline constexpr int kNewestLandlock = 6;

/// The Landlock part of EnterSandbox(), so tests can check each part by itself.
[[nodiscard]] SandboxState RestrictFiles(const SandboxRules& rules,
                                         int newest_landlock = kNewestLandlock);

/// Permanently drops all rights that `rules` do not grant, from this process and its children. The
/// process must have one thread, and can gain no privileges afterwards. Open descriptors stay
/// usable. `newest_landlock`: pretends that the kernel has no later ABI.
[[nodiscard]] SandboxState EnterSandbox(const SandboxRules& rules,
                                        int newest_landlock = kNewestLandlock);

/// As EnterSandbox() for a process that uses the network (rules.network), with the system calls of
/// RestrictFetcherCalls(). `starts_programs`: it runs programs of third parties, which inherit the
/// sandbox, so system calls are restricted only as in RestrictCallsOfPrograms().
[[nodiscard]] SandboxState EnterFetcherSandbox(const SandboxRules& rules, bool starts_programs,
                                               int newest_landlock = kNewestLandlock);

}  // namespace zarrfs
