// Where the program's words go. Everybody logs through spdlog's default logger; this room decides
// where that leads: stderr while somebody watches, syslog (ident "zarrfs") afterwards. libfuse's
// own messages take the same way. Each message is one line, whatever names the store has.
//
// A service's stderr leads to the systemd journal, which is told the priority of each line as
// sd-daemon(3) says, and who speaks it knows by itself.
//
// spdlog::set_level() changes the level at any time.
#ifndef FS_DAEMON_LOG_H_
#define FS_DAEMON_LOG_H_

#include <string>
#include <string_view>

#include "zarrcore/base/descriptor.h"

namespace zarrfs {

/// Logs to stderr as "zarrfs: message", with time and thread while the level is "debug"; as
/// "<4>message" if that is the journal. From `level` ("error", "warning", "info", "debug") on.
void LogToStderr(std::string_view level);

/// Lets go of the terminal or pipe and of the session that the process was started from, and logs
/// to the journal or syslog from now on.
void LeaveTerminal(std::string_view mountpoint);

/// From now on, wherever the log goes. On any thread.
void SetLogLevel(std::string_view level);

/// The level in force, by the same names.
[[nodiscard]] std::string LogLevel();

/// Whether stderr leads to the systemd journal (JOURNAL_STREAM of systemd.exec(5)).
[[nodiscard]] bool StderrIsJournal();

/// Prints "zarrfs: message" ("<3>message" to the journal) on stderr, on one line, whatever the log
/// level is.
void PrintError(std::string_view message);

/// While one lives, what libfuse and the programs it starts (fusermount3) say is kept instead of
/// logged: it is the only place where the reason of a failed mount is found. Takes descriptor 2 of
/// the whole process, so nobody else may have anything to say meanwhile. One at a time.
class MountMessages {
 public:
  MountMessages();
  ~MountMessages();
  MountMessages(const MountMessages&) = delete;
  MountMessages& operator=(const MountMessages&) = delete;

  /// Gives descriptor 2 back; what was said, as one line, without the speakers' names. libfuse's
  /// messages are logged again afterwards.
  [[nodiscard]] std::string Take();

 private:
  Descriptor kept_;    // a memory file that collects the messages
  Descriptor stderr_;  // the real one; empty once it is back
};

}  // namespace zarrfs

#endif  // FS_DAEMON_LOG_H_
