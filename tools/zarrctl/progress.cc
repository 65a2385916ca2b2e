#include "tools/zarrctl/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"

namespace zarrfs::ctl {
namespace {

constexpr std::chrono::milliseconds kFirstDrawn{1000};
constexpr std::chrono::milliseconds kInterval{200};
constexpr size_t kBarWidth = 24;

std::string DurationText(double seconds) {
  const auto s = static_cast<uint64_t>(std::clamp(seconds, 0.0, 1e9));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

bool Progress::IsSeen() {
  const char* term = std::getenv("TERM");
  return IsTerminal(STDERR_FILENO) && (term == nullptr || std::string_view(term) != "dumb");
}

bool Progress::IsSeenBesideOutput() { return IsSeen() && !IsTerminal(STDOUT_FILENO); }

Progress::Progress(std::string_view noun, bool is_seen, std::string_view verb)
    : noun_(noun), verb_(verb), start_(std::chrono::steady_clock::now()) {
  if (!is_seen) return;
  thread_ = std::thread([this] {
    MutexLock lock(mutex_);
    const auto ended = [this]() REQUIRES(mutex_) { return ended_; };
    if (wake_.wait_for(lock, kFirstDrawn, ended)) return;
    do Draw();
    while (!wake_.wait_for(lock, kInterval, ended));
  });
}

Progress::~Progress() { End(); }

void Progress::End() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  Hide();
}

void Progress::Begin(uint64_t found) {
  const MutexLock lock(mutex_);
  AddFound(found);
  begun_ = true;
  start_ = std::chrono::steady_clock::now();
}

void Progress::Hide() {
  const MutexLock lock(mutex_);
  Erase();
}

void Progress::Above(const std::function<void()>& print) {
  const MutexLock lock(mutex_);
  Erase();
  print();
}

void Progress::Erase() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
  SetUnfinishedLine(false);
}

std::string Progress::Amount(uint64_t count) const {
  return noun_.empty() ? SizeText(count) : CountText(count, noun_);
}

std::string Progress::Line() const {
  const uint64_t found = found_.load(std::memory_order_relaxed);
  if (!begun_) return fmt::format("counting: {}", Amount(found));
  const uint64_t done = done_.load(std::memory_order_relaxed);
  const uint64_t bytes = bytes_.load(std::memory_order_relaxed);
  const double elapsed = std::max(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(), 0.001);
  const auto per_second = [&](uint64_t count) {
    return static_cast<uint64_t>(static_cast<double>(count) / elapsed);
  };
  const std::string rate =
      bytes > 0 ? fmt::format("{} {}, {}/s", SizeText(bytes), verb_, SizeText(per_second(bytes)))
                : Amount(per_second(done)) + "/s";
  if (found == 0) return fmt::format("{}, {}", Amount(done), rate);

  const uint64_t total = std::max(found, done);
  const double share = static_cast<double>(done) / static_cast<double>(total);
  std::string line = fmt::format(
      "{} of {}, {}", noun_.empty() ? SizeText(done) : std::to_string(done), Amount(total), rate);
  if (done > 0) line += fmt::format(", {} left", DurationText(elapsed / share - elapsed));
  const size_t width = SizeOfTerminal(STDERR_FILENO).columns;
  if (line.size() + kBarWidth + 4 > width) return line;
  std::string bar(static_cast<size_t>(share * static_cast<double>(kBarWidth)), '#');
  bar.resize(kBarWidth, '.');
  return fmt::format("[{}] {}", bar, line);
}

void Progress::Draw() {
  if (IsQuitting()) return;
  // Cuts the line to the width of the terminal, because a wrapped line could not be erased.
  const std::string line = Line().substr(0, SizeOfTerminal(STDERR_FILENO).columns - 1);
  SetUnfinishedLine(true);
  std::fputs(("\r" + line + "\033[K").c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace zarrfs::ctl
