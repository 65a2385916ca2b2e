#include "fs/process/start_report.h"

#include <cstdint>

#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {

bool StartReport::Succeed() {
  state_ = State::kReady;
  return fd() < 0 || waiting_.Send({Message::Kind::kReady, {kExitDone}, ""});
}

void StartReport::Fail(int code, std::string_view line) {
  state_ = State::kFailed;
  if (fd() < 0) return PrintError(line);
  waiting_.Send({Message::Kind::kFailed, {static_cast<uint64_t>(code)}, OneLine(line)});
}

}  // namespace zarrfs
