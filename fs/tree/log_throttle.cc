#include "fs/tree/log_throttle.h"

#include <fmt/format.h>

#include <algorithm>

namespace zarrfs {

template <typename Add>
void LogThrottle::Say(Add add) {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(mutex_);
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
  Say([&](std::vector<std::string>& lines) {
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
  Say([&](std::vector<std::string>& lines) {
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
  Say([&](std::vector<std::string>& lines) {
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

}  // namespace zarrfs
