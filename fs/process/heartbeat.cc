#include "fs/process/heartbeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace zarrfs {
namespace {

int64_t Seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

std::string ToText(const Beat& beat) {
  return fmt::format("{} {} {} {}", beat.taken, beat.answered, beat.oldest_ms, beat.free_threads);
}

std::optional<Beat> ParseBeat(std::string_view text) {
  Beat beat;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (uint64_t* const number :
       {&beat.taken, &beat.answered, &beat.oldest_ms, &beat.free_threads}) {
    if (number != &beat.taken) {
      if (at == end || *at != ' ') return std::nullopt;
      ++at;
    }
    const auto [stop, error] = std::from_chars(at, end, *number);
    if (error != std::errc()) return std::nullopt;
    at = stop;
  }
  if (at != end) return std::nullopt;
  return beat;
}

void Heartbeat::OnBeat(const Beat& beat) {
  const bool answers = !last_ || beat.answered != last_->answered || beat.taken <= beat.answered;
  without_answer_ = answers ? 0 : std::min(without_answer_ + 1, kAlarm);
  silence_ = {};
  last_ = beat;
}

void Heartbeat::OnTick(Clock::time_point now) {
  const auto since = now - ticked_.value_or(now);
  ticked_ = now;
  if (last_) silence_ += std::min<Clock::duration>(since, kMaxTick);
}

Heartbeat::State Heartbeat::state() const {
  if (silence_ > kAlarm * kPeriod) return State::kSilent;
  // If no thread is free, the worker is busy, not stuck.
  const bool is_stuck = without_answer_ >= kAlarm && last_->free_threads > 0;
  return is_stuck ? State::kStuck : State::kWell;
}

std::string Heartbeat::Alarm() const {
  switch (state()) {
    case State::kSilent:
      return fmt::format("silent: no heartbeat for {} s, so it is stopped or hangs",
                         Seconds(silence_));
    case State::kStuck:
      return fmt::format("stuck: {} requests wait, the oldest for {} s, and {} threads are free",
                         last_->taken - last_->answered,
                         Seconds(std::chrono::milliseconds(last_->oldest_ms) + silence_),
                         last_->free_threads);
    case State::kWell:
      break;
  }
  return "";
}

std::optional<std::string> Heartbeat::News() {
  const State now = state();
  if (std::exchange(told_, now) == now) return std::nullopt;
  return now == State::kWell ? "well again" : Alarm();
}

}  // namespace zarrfs
