// How the keeper reports the start of a mount in the background to the process that waits for it:
// one exit code and one line, through a pipe.
#ifndef FS_DAEMON_REPORT_H_
#define FS_DAEMON_REPORT_H_

#include <sys/types.h>

#include <string_view>

namespace zarrfs {

/// Sends the report in one write. If `report_fd` is -1, prints the line of a failure instead.
/// Returns false if the waiting process is gone.
bool ReportStart(int report_fd, int code, std::string_view line);

/// Waits for the report, prints the line of a failure and returns the code; kExitSystem if the
/// keeper ends without a report.
int AwaitReport(int report_fd, pid_t keeper);

}  // namespace zarrfs

#endif  // FS_DAEMON_REPORT_H_
