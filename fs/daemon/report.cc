#include "fs/daemon/report.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "fs/daemon/exit_code.h"
#include "fs/daemon/log.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

constexpr size_t kReportLimit = 4096;  // PIPE_BUF: written at once or not at all

}  // namespace

bool ReportStart(int report_fd, int code, std::string_view line) {
  if (report_fd < 0) {
    if (code != kExitDone) PrintError(line);
    return true;
  }
  std::string message(1, static_cast<char>(code));
  message += OneLine(line).substr(0, kReportLimit - 1);
  return TEMP_FAILURE_RETRY(write(report_fd, message.data(), message.size())) > 0;
}

int AwaitReport(int report_fd, pid_t keeper) {
  std::array<char, kReportLimit> message;
  const ssize_t length = TEMP_FAILURE_RETRY(read(report_fd, message.data(), message.size()));
  if (length > 0) {
    const int code = static_cast<unsigned char>(message[0]);
    if (code != kExitDone) {
      PrintError(std::string_view(message.data() + 1, static_cast<size_t>(length) - 1));
    }
    return code;
  }
  int status = 0;
  TEMP_FAILURE_RETRY(waitpid(keeper, &status, 0));
  PrintError(WIFSIGNALED(status)
                 ? fmt::format("ended by signal {} before the mount was ready", WTERMSIG(status))
                 : std::string("ended before the mount was ready"));
  return kExitSystem;
}

}  // namespace zarrfs
