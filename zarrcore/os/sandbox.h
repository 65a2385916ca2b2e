// The sandbox of a process that parses what anybody may have written: Landlock for files, TCP ports
// and signals, seccomp (base/system_calls.h) for everything else that a process can ask of the
// kernel.
//
// Whoever makes a codec or a parser run code of his own can read the files that are named here and
// use the descriptors that the process has: nothing can be written, made, removed or executed (but
// in folders that are named for it), no process be started or hit by a signal, no network be
// reached.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

struct SandboxRules {
  /// Files, and folders with everything below them, that may be read. What does not exist is left
  /// out. Only opening is restricted: names, sizes and times can be asked for everywhere.
  std::vector<std::string> readable;
  /// Files that may be read and written, but neither made nor truncated.
  std::vector<std::string> writable = {};
  /// Folders below which files and folders may be made, read, written, renamed and removed.
  std::vector<std::string> changeable = {};
  /// Whether TCP may be used.
  bool network = false;
  /// Whether io_uring may be used.
  bool io_uring = false;
  /// The numbers of the sockets that may be used: messages are sent and received with no other
  /// descriptor. Without a value: all that are open. No socket can be made, bound or connected.
  std::optional<std::vector<int>> sockets = {};
};

/// What of it is in force. A kernel may lack one or the other.
struct SandboxState {
  int landlock = 0;         // the ABI that is made use of; 0: none
  std::string no_landlock;  // why there is none
  std::string no_seccomp;   // likewise; "": it is in force

  /// "landlock 6, seccomp", "landlock 2 (without TCP, ioctl, signals), no seccomp (not built in)".
  [[nodiscard]] std::string Text() const;
  [[nodiscard]] bool is_whole() const { return landlock > 0 && no_seccomp.empty(); }
};

/// The newest ABI of Landlock that is made use of (Linux 6.12).
inline constexpr int kNewestLandlock = 6;

/// The part of EnterSandbox() that is Landlock's: so tests see what each part refuses by itself.
[[nodiscard]] SandboxState RestrictFiles(const SandboxRules& rules,
                                         int newest_landlock = kNewestLandlock);

/// Takes away what `rules` do not allow, for good, from this process and whatever it starts; it
/// must have one thread, and can gain no privileges from here on. What is open stays usable.
/// `newest_landlock`: pretends that the kernel has no later ABI.
[[nodiscard]] SandboxState EnterSandbox(const SandboxRules& rules,
                                        int newest_landlock = kNewestLandlock);

/// The same for a process that uses the network (rules.network): its list of system calls is that
/// of RestrictFetcherCalls(). `starts_programs`: those of somebody else, which inherit all that is
/// taken away; so only what RestrictCallsOfPrograms() says is.
[[nodiscard]] SandboxState EnterFetcherSandbox(const SandboxRules& rules, bool starts_programs,
                                               int newest_landlock = kNewestLandlock);

}  // namespace zarrfs
