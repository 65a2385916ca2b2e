// The log. All code logs through spdlog's default logger, which writes to stderr while the caller
// waits for the mount, and to the journal or syslog (as "zarrfs") afterwards, as do messages of
// libfuse. Each message is one line, regardless of the characters in the store's names.
//
// If stderr is the systemd journal, as in a service, each line begins with its priority (see
// sd-daemon(3)).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The log levels, from fewest to most messages.
inline constexpr std::array<std::string_view, 4> kLogLevels = {"error", "warning", "info", "debug"};

/// Logs messages of `level` (one of kLogLevels) and above to stderr: as "zarrfs: message", with
/// time and thread if the level is "debug"; to the journal as "<4>message".
void LogToStderr(std::string_view level);

/// Detaches the process from its terminal or pipe and its session.
void DetachFromTerminal();

/// DetachFromTerminal(); logs to the journal or syslog from now on.
void LeaveTerminal(std::string_view mountpoint);

/// Redirects standard input, output and error to /dev/null.
void CloseStandardFiles();

/// A log line sent from one process to another.
struct LogLine {
  int level = 0;        // spdlog's
  uint64_t thread = 0;  // of the logging thread
  uint64_t lost = 0;    // number of lines dropped before it because the pipe was full
  std::string_view text = {};
};

/// The maximum size of a line in a pipe, in bytes.
inline constexpr size_t kMaxLogLine = 2048;

/// Logs to a pipe in packet mode (O_DIRECT) without ever waiting: if the pipe is full, the line is
/// dropped.
void LogToPipe(Descriptor pipe);

/// nullopt if the packet is invalid.
[[nodiscard]] std::optional<LogLine> ParseLogLine(std::string_view packet);

/// Logs a line of another process.
void Log(const LogLine& line);

/// Whether a line can be logged without waiting for its reader.
[[nodiscard]] bool CanLog();

/// Changes the level of every target. Thread-safe.
void SetLogLevel(std::string_view level);

/// The level in force, one of kLogLevels.
[[nodiscard]] std::string LogLevel();

/// Prints "zarrfs: message" ("<3>message" to the journal) on stderr, on one line, regardless of the
/// log level.
void PrintError(std::string_view message);

/// While an object exists, messages of libfuse and the programs it starts (fusermount3) are
/// collected instead of logged: only they say why mounting failed. Redirects descriptor 2 of the
/// whole process, so other threads must not log. At most one object may exist.
class MountMessages {
 public:
  MountMessages();
  ~MountMessages();
  MountMessages(const MountMessages&) = delete;
  MountMessages& operator=(const MountMessages&) = delete;

  /// Drops the messages collected so far.
  void Forget();

  /// Restores descriptor 2 and returns the messages as one line, without program names. From then
  /// on libfuse's messages are logged again.
  [[nodiscard]] std::string Take();

 private:
  Descriptor kept_;    // a memory file with the messages
  Descriptor stderr_;  // the original; empty once restored
};

}  // namespace zarrfs
