// The log. All code, including libfuse, logs through spdlog's default logger. The logger writes to
// stderr while the caller waits for the mount, and afterwards to the journal or syslog, as
// "zarrfs". Each message is one line, even if names in the store contain newlines.
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

/// Logs messages of `level`, one of kLogLevels, and above to stderr. The format is "zarrfs:
/// message", with time and thread if the level is "debug", and "<4>message" if stderr is the
/// journal.
void LogToStderr(std::string_view level);

/// Detaches the process from its terminal or pipe, and from its session.
void DetachFromTerminal();

/// Calls DetachFromTerminal(), and logs to the journal or syslog from then on.
void LeaveTerminal(std::string_view mountpoint);

/// Redirects standard input, output and error to /dev/null.
void CloseStandardFiles();

/// A log line that one process sends to another.
struct LogLine {
  int level = 0;        // see spdlog::level
  uint64_t thread = 0;  // the id of the thread that logged the message
  uint64_t lost = 0;    // lines dropped before this one because the pipe was full
  std::string_view text = {};
};

/// The maximum size in bytes of a line in a pipe.
inline constexpr size_t kMaxLogLine = 2048;

/// Logs to a pipe in packet mode (O_DIRECT). Never waits: if the pipe is full, the line is dropped.
void LogToPipe(Descriptor pipe);

/// Parses a packet from the pipe; nullopt if it is invalid.
[[nodiscard]] std::optional<LogLine> ParseLogLine(std::string_view packet);

/// Logs a line of another process.
void Log(const LogLine& line);

/// True if a line can be logged without waiting for the reader of the log.
[[nodiscard]] bool CanLog();

/// Changes the level of all log targets. Thread-safe.
void SetLogLevel(std::string_view level);

/// The current level, one of kLogLevels.
[[nodiscard]] std::string LogLevel();

/// Prints "zarrfs: message" on stderr ("<3>message" for the journal), on one line, regardless of
/// the log level.
void PrintError(std::string_view message);

/// While an object of this class exists, messages of libfuse and of fusermount3 are collected
/// instead of logged, because only these messages say why mounting failed. Redirects descriptor 2
/// of the whole process, so other threads must not log. At most one object may exist at a time.
class MountMessages {
 public:
  MountMessages();
  ~MountMessages();
  MountMessages(const MountMessages&) = delete;
  MountMessages& operator=(const MountMessages&) = delete;

  /// Drops the messages collected so far.
  void Forget();

  /// Restores descriptor 2 and returns the messages as one line, without program names. After that,
  /// libfuse's messages are logged again.
  [[nodiscard]] std::string Take();

 private:
  Descriptor kept_;    // a memory file with the collected messages
  Descriptor stderr_;  // the original stderr; empty after it was restored
};

}  // namespace zarrfs
