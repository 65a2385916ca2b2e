// The heartbeat of a worker: what it sends to its keeper each five seconds, and what the keeper
// concludes. A worker that is stopped, or whose threads all hang, sends nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrfs {

/// Requests about the status files and statfs(2) do not count: they need no store, and whoever
/// looks after a mount makes them.
struct Beat {
  uint64_t taken = 0;         // requests since the worker began
  uint64_t answered = 0;      // of these
  uint64_t oldest_ms = 0;     // how long the oldest unanswered one has been waiting
  uint64_t free_threads = 0;  // of those that take requests

  bool operator==(const Beat&) const = default;
};

/// The text of a Message::Kind::kBeat.
[[nodiscard]] std::string ToText(const Beat& beat);
[[nodiscard]] std::optional<Beat> ParseBeat(std::string_view text);

/// The keeper's view of the worker's heartbeat. Time passes only with the keeper's own ticks, so a
/// machine that was suspended, or a keeper that was stopped itself, raises no alarm.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr auto kPeriod = std::chrono::seconds(5);
  static constexpr int kAlarm = 3;  // this many periods without a beat, or without an answer
  /// The time that passes at most between two ticks. The keeper ticks once a second.
  static constexpr auto kLongestTick = std::chrono::seconds(2);

  /// There is another worker, or none. It is watched from its first beat on.
  void Reset() { *this = {}; }
  void OnBeat(const Beat& beat);
  void OnTick(Clock::time_point now);

  /// What is wrong with the worker: "silent: …", "stuck: …"; "" if nothing is.
  [[nodiscard]] std::string Alarm() const;
  /// A line for the log when an alarm begins or ends; nullopt if nothing has changed since the last
  /// call.
  [[nodiscard]] std::optional<std::string> News();

 private:
  enum class State { kWell, kSilent, kStuck };
  [[nodiscard]] State state() const;

  std::optional<Beat> last_;
  int without_answer_ = 0;        // beats in a row
  Clock::duration silence_ = {};  // since the last beat
  std::optional<Clock::time_point> ticked_;
  State told_ = State::kWell;
};

}  // namespace zarrfs
