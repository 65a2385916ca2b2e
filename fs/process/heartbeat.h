// The heartbeat of a worker: a message that the worker sends to its keeper every five seconds, and
// the conclusions that the keeper draws from it. A worker that is stopped, or whose threads all
// hang, sends no heartbeat.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrfs {

/// The contents of a heartbeat. Requests for the status files and statfs(2) are not counted,
/// because they do not need the store, and tools that monitor the mount issue them.
struct Beat {
  uint64_t taken = 0;         // the number of requests received since the worker began
  uint64_t answered = 0;      // the number of requests answered since the worker began
  uint64_t oldest_ms = 0;     // the age of the oldest unanswered request
  uint64_t free_threads = 0;  // the number of idle threads that can receive requests

  bool operator==(const Beat&) const = default;
};

/// Converts a Beat to and from the text of a Message::Kind::kBeat.
[[nodiscard]] std::string ToText(const Beat& beat);
[[nodiscard]] std::optional<Beat> ParseBeat(std::string_view text);

/// The keeper's view of the worker's heartbeat. Time passes only by the keeper's calls of OnTick(),
/// so a suspended machine or a stopped keeper raises no alarm.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr auto kPeriod = std::chrono::seconds(5);
  /// The number of periods without a heartbeat, or without an answer, that cause an alarm.
  static constexpr int kAlarm = 3;
  /// The maximum time that one call of OnTick() adds to the time without a heartbeat. The keeper
  /// calls OnTick() at least once a second.
  static constexpr auto kMaxTick = std::chrono::seconds(2);

  /// Forgets all heartbeats. Call when another worker has started, or when the worker no longer
  /// exists. A worker is watched only after its first heartbeat.
  void Reset() { *this = {}; }
  void OnBeat(const Beat& beat);
  void OnTick(Clock::time_point now);

  /// The problem of the worker: "silent: …", "stuck: …"; "" if it works.
  [[nodiscard]] std::string Alarm() const;
  /// A message for the log when an alarm begins or ends; nullopt if nothing has changed since the
  /// last call.
  [[nodiscard]] std::optional<std::string> News();

 private:
  enum class State { kWell, kSilent, kStuck };
  [[nodiscard]] State state() const;

  std::optional<Beat> last_;
  int without_answer_ = 0;  // consecutive heartbeats in which requests waited and none was answered
  Clock::duration silence_ = {};  // the time since the last heartbeat
  std::optional<Clock::time_point> ticked_;
  State told_ = State::kWell;
};

}  // namespace zarrfs
