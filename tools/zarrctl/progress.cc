#include "tools/zarrctl/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "tools/zarrctl/output.h"

namespace zarrfs::ctl {
namespace {

constexpr std::chrono::milliseconds kInterval{200};
constexpr uint64_t kBarWidth = 24;

std::string DurationText(double seconds) {
  const auto s = static_cast<uint64_t>(std::clamp(seconds, 0.0, 1e9));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

bool Progress::IsSeen() { return isatty(STDERR_FILENO) == 1; }

Progress::Progress(uint64_t objects) : total_(objects), start_(std::chrono::steady_clock::now()) {
  if (!IsSeen()) return;
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kInterval, [this] { return done_; })) Draw();
  });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  Hide();
}

void Progress::Hide() {
  const std::lock_guard lock(mutex_);
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::Draw() {
  const uint64_t done = objects_.load(std::memory_order_relaxed);
  const uint64_t bytes = bytes_.load(std::memory_order_relaxed);
  const uint64_t total = std::max<uint64_t>({total_, done, 1});
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const auto filled = static_cast<uint64_t>(share * static_cast<double>(kBarWidth));
  std::string bar(filled, '#');
  bar.resize(kBarWidth, '.');
  std::string line = fmt::format(
      "\r[{}] {} of {} objects, {} read, {}/s", bar, done, total, SizeText(bytes),
      SizeText(static_cast<uint64_t>(static_cast<double>(bytes) / std::max(elapsed, 0.001))));
  if (done > 0) line += fmt::format(", {} left", DurationText(elapsed / share - elapsed));
  line += "\033[K";
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace zarrfs::ctl
