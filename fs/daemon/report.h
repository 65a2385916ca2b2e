// What the process that starts a mount in the background is told about it: one exit code and one
// line, through a pipe.
#ifndef FS_DAEMON_REPORT_H_
#define FS_DAEMON_REPORT_H_

#include <sys/types.h>

#include <string_view>

namespace zarrfs {

/// In one write. With `report_fd` -1 prints the line of a failure instead. False if nobody hears
/// it any more.
bool ReportStart(int report_fd, int code, std::string_view line);

/// Waits for it, prints the line and gives the code; kExitSystem if the keeper ends without a word.
int AwaitReport(int report_fd, pid_t keeper);

}  // namespace zarrfs

#endif  // FS_DAEMON_REPORT_H_
