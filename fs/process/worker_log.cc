#include "fs/process/worker_log.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "fs/options/log.h"

namespace zarrfs {
namespace {

// The capacity of the pipe in bytes. Each line takes a page, so the lines of one second fit.
constexpr int kPipeBytes = 1 << 20;
// The maximum number of lines read in one call, after which the keeper handles other events.
constexpr int kMaxAtOnce = 256;

}  // namespace

Descriptor WorkerLog::Open() {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC | O_DIRECT | O_NONBLOCK) != 0) return {};
  pipe_.reset(ends[0]);
  fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
  return Descriptor(ends[1]);
}

void WorkerLog::Take(Clock::time_point now) {
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    lines_ = 0;
    if (dropped_ > 0 && CanLog()) {
      spdlog::warn("{}: {} lines of the worker's log were dropped", mountpoint_,
                   std::exchange(dropped_, 0));
    }
  }
  std::array<char, kMaxLogLine> packet;
  for (int i = 0; i < kMaxAtOnce && pipe_; ++i) {
    const ssize_t length = TEMP_FAILURE_RETRY(read(pipe_.get(), packet.data(), packet.size()));
    if (length < 0 && errno == EAGAIN) return;
    if (length <= 0) return pipe_.reset();
    OnLine({packet.data(), static_cast<size_t>(length)});
  }
}

void WorkerLog::OnLine(std::string_view packet) {
  const auto line = ParseLogLine(packet);
  constexpr uint64_t kMax = UINT32_MAX;  // a limit, because the worker's count is not trusted
  if (line) dropped_ = std::min(dropped_ + std::min(line->lost, kMax), kMax);
  if (!line || lines_ >= kMaxLines || !CanLog()) {
    ++dropped_;
    return;
  }
  ++lines_;
  Log(*line);
}

}  // namespace zarrfs
