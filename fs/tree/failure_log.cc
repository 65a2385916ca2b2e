#include "fs/tree/failure_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "zarrcore/base/printable.h"

namespace zarrfs {

template <typename Add>
void LogThrottle::Say(Add add) {
  std::vector<std::string> lines;
  {
    const MutexLock lock(mutex_);
    add(lines);
  }
  for (const std::string& line : lines) say_(line);
}

void LogThrottle::AddSummary(Object& object, Clock::time_point now,
                             std::vector<std::string>& lines) {
  if (object.again == 0 || now - object.said < kPeriod) return;
  lines.push_back(fmt::format("{}: {} times more", object.line, object.again));
  object.again = 0;
  object.said = now;
}

void LogThrottle::AddOthers(Clock::time_point now, std::vector<std::string>& lines) {
  if (others_ == 0 || now - others_since_ < kPeriod) return;
  lines.push_back(fmt::format("{} more messages, about other objects", others_));
  others_ = 0;
}

LogThrottle::Object* LogThrottle::Make(std::string_view object, Clock::time_point now,
                                       std::vector<std::string>& lines) {
  if (objects_.size() >= kMaxObjects) {
    const auto oldest =
        std::ranges::min_element(objects_, {}, [](const auto& item) { return item.second.said; });
    if (now - oldest->second.said < kPeriod) {
      if (others_++ == 0) others_since_ = now;
      return nullptr;
    }
    AddSummary(oldest->second, now, lines);
    objects_.erase(oldest);
  }
  Object& made = objects_[std::string(object)];
  made.said = now;
  return &made;
}

void LogThrottle::Report(std::string_view object, std::string_view line, Clock::time_point now,
                         bool told_elsewhere) {
  Say([&](std::vector<std::string>& lines) REQUIRES(mutex_) {
    const auto found = objects_.find(object);
    if (found != objects_.end()) {
      if (!told_elsewhere) ++found->second.again;
      found->second.line = line;
      AddSummary(found->second, now, lines);
    } else if (Object* const made = Make(object, now, lines)) {
      made->line = line;
      made->is_counted_elsewhere = told_elsewhere;
      lines.emplace_back(line);
    }
  });
}

void LogThrottle::Count(std::string_view object, std::string_view line, Clock::time_point now) {
  Say([&](std::vector<std::string>& lines) REQUIRES(mutex_) {
    const auto found = objects_.find(object);
    if (found == objects_.end()) {
      if (Object* const made = Make(object, now, lines)) made->line = line;
    } else if (found->second.is_counted_elsewhere) {
      found->second.is_counted_elsewhere = false;
    } else {
      ++found->second.again;
      AddSummary(found->second, now, lines);
    }
  });
}

LogThrottle::Clock::time_point LogThrottle::Sweep(Clock::time_point now) {
  Clock::time_point next = Clock::time_point::max();
  Say([&](std::vector<std::string>& lines) REQUIRES(mutex_) {
    for (auto& [name, object] : objects_) {
      AddSummary(object, now, lines);
      if (object.again > 0) next = std::min(next, object.said + kPeriod);
    }
    AddOthers(now, lines);
    if (others_ > 0) next = std::min(next, others_since_ + kPeriod);
  });
  return next;
}

std::string_view ObjectOf(std::string_view message) {
  constexpr std::string_view kNotShown = "not shown: ";
  if (message.starts_with(kNotShown)) message.remove_prefix(kNotShown.size());
  return message.substr(0, message.find(": "));
}

FailureLog::FailureLog() : throttle_([](std::string_view line) { spdlog::warn("{}", line); }) {}

void FailureLog::Add(std::string_view line) {
  const MutexLock lock(mutex_);
  messages_.emplace_back(line);
  if (messages_.size() > kMaxMessages) messages_.pop_front();
}

std::vector<std::string> FailureLog::Messages() const {
  const MutexLock lock(mutex_);
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
  // Several reports may be about one undamaged object, so they are throttled by message instead.
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
    MutexLock lock(mutex_);
    const bool is_there = std::ranges::find(messages_, message) != messages_.end();
    lock.unlock();
    if (!is_there) Add(message);
    throttle_.Report(ObjectOf(message), fmt::format("{}: {}", what, message), now);
  }
}

}  // namespace zarrfs
