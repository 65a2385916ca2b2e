#include "fs/tree/failure_log.h"

#include <spdlog/spdlog.h>

#include "zarrcore/base/printable.h"

namespace zarrfs {

FailureLog::FailureLog() : throttle_([](std::string_view line) { spdlog::warn("{}", line); }) {}

void FailureLog::OnReport(const Error& error) {
  const std::string line = OneLine(error.message);
  const bool is_damage = error.code == ErrorCode::kDamaged;
  errors_.Add(line);
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
    errors_.AddOnce(message);
    throttle_.Report(ObjectOf(message), fmt::format("{}: {}", what, message), now);
  }
}

}  // namespace zarrfs
