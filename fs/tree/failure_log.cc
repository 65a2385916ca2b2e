#include "fs/tree/failure_log.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "zarrcore/base/printable.h"

namespace zarrfs {

FailureLog::FailureLog() : throttle_([](std::string_view line) { spdlog::warn("{}", line); }) {}

void FailureLog::Add(std::string_view line) {
  const std::lock_guard lock(mutex_);
  messages_.emplace_back(line);
  if (messages_.size() > kMaxMessages) messages_.pop_front();
}

std::vector<std::string> FailureLog::Messages() const {
  const std::lock_guard lock(mutex_);
  return {messages_.begin(), messages_.end()};
}

std::string FailureLog::Text() const {
  std::string text;
  for (const std::string& message : Messages()) text += message + "\n";
  return text;
}

void FailureLog::OnReport(const Error& error) {
  const std::string line = OneLine(error.message);
  const bool is_damage = error.code == ErrorCode::kDamaged;
  Add(line);
  if (is_damage) damage_.fetch_add(1, std::memory_order_relaxed);
  if (!is_logging_) return;
  // Several reports may concern one object that is not damaged.
  throttle_.Report(is_damage ? ObjectOf(line) : line, line, LogThrottle::Clock::now(), is_damage);
}

void FailureLog::OnFailure(std::string_view what, const Error& error) {
  if (error.code == ErrorCode::kWouldBlock || error.code == ErrorCode::kInterrupted) return;
  spdlog::debug("{}: {}", what, error.message);
  if (error.code == ErrorCode::kStale) return;
  const std::string message = OneLine(error.message);
  const auto now = LogThrottle::Clock::now();
  if (error.code == ErrorCode::kDamaged) {
    throttle_.Count(ObjectOf(message), message, now);
  } else {
    std::unique_lock lock(mutex_);
    const bool is_there = std::ranges::find(messages_, message) != messages_.end();
    lock.unlock();
    if (!is_there) Add(message);
    throttle_.Report(ObjectOf(message), fmt::format("{}: {}", what, message), now);
  }
}

}  // namespace zarrfs
