// Workers: the keeper's handle on the workers, the processes that answer the kernel for a mount,
// one after the other. Starts the next worker when one has ended or cannot end. If more than five
// workers end within a minute, a caretaker answers with errors (fs/fuse/caretaker.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fs/mount/channel.h"
#include "fs/mount/start_message.h"
#include "fs/options/options.h"
#include "fs/process/beginning.h"
#include "fs/process/heartbeat.h"
#include "fs/process/store_fetcher.h"
#include "fs/process/worker_log.h"
#include "fs/process/worker_start.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class Workers {
 public:
  using Clock = std::chrono::steady_clock;

  /// `config`: the settings of the configuration file that are in force. `in_child` is called in a
  /// new child, and closes the descriptors that only the keeper may have.
  Workers(const MountOptions& options, const std::vector<std::string>& config,
          const std::string& mountpoint, std::function<void()> in_child)
      : options_(options),
        config_(config),
        mountpoint_(mountpoint),
        in_child_(std::move(in_child)) {}

  /// Sets the program that workers execute (worker_start.h). If it is empty, workers are forked
  /// copies of the keeper.
  void set_program(Descriptor program) { program_ = std::move(program); }
  /// Adds the parts of the start message that the trial of a newer program needs.
  void AddTo(StartMessage& state) const;
  /// Creates the id journal, which lets each worker take over from its predecessor. Call before any
  /// other function.
  [[nodiscard]] Result<void> MakeJournal();
  /// Saves the ids for the next mount, if the option `ids` names a file. Call when no more workers
  /// will be started.
  void SaveIds();
  /// Starts the fetcher of a store behind a network; does nothing for other stores. Call before the
  /// first worker starts.
  [[nodiscard]] Result<void> StartFetcher() { return fetcher_.Start(); }
  /// A descriptor for poll() that is readable once the fetcher has ended; -1 if none runs.
  [[nodiscard]] int fetcher_fd() const { return fetcher_.fd(); }

  // --- The current worker ------------------------------------------------------------------------

  /// Starts a worker. `takes_over`: an earlier worker has served the mount.
  [[nodiscard]] Result<void> Start(bool takes_over);
  /// True if a worker exists, or has ended without being reaped (TryReap).
  [[nodiscard]] bool is_there() const { return channel_.has_value(); }
  [[nodiscard]] const Channel& channel() const { return *channel_; }
  /// Sends a message to the worker. False if no worker exists, or the message cannot be sent.
  bool Tell(const Message& message) const { return channel_ && channel_->Send(message); }
  void Kill();
  /// True if the worker's main thread has ended while the process still exists, as after SIGKILL.
  [[nodiscard]] bool IsDying() const;
  /// True if the worker can no longer serve: its main thread has ended (IsDying()), or it crashed
  /// and the kernel is still dumping its core.
  [[nodiscard]] bool IsPastServing() const;
  /// The channel of the worker, for poll(); -1 if nothing can be received.
  [[nodiscard]] int fd() const { return channel_ && !cut_off_at_ ? channel_->fd() : -1; }
  /// The pipe of the worker's log, for poll(); Attend() reads it.
  [[nodiscard]] int log_fd() const { return log_.fd(); }
  /// Returns the worker's next message; call when fd() is readable. Returns nullopt for a
  /// heartbeat. Also returns nullopt if the worker is now cut off: its channel has ended, so it
  /// must exit within kEndLimit, or it sent an unexpected message and is killed immediately.
  std::optional<Message> Receive();
  /// The worker's version; "" before its first message.
  [[nodiscard]] const std::string& version() const { return version_; }
  /// The problem that the worker's heartbeat shows; "" for none.
  [[nodiscard]] std::string Alarm() const { return heartbeat_.Alarm(); }
  /// Stores the descriptor of the store's root, which the first worker has opened, for later
  /// workers.
  void set_source(Descriptor source) { source_ = std::move(source); }

  // --- The end of a worker -----------------------------------------------------------------------

  struct End {
    bool by_signal = false;
    int number = 0;  // the signal, or the exit code
  };
  /// True if the worker's channel has ended, or if the worker sent an unexpected message; see
  /// Receive().
  [[nodiscard]] bool is_cut_off() const { return cut_off_at_.has_value(); }
  /// True if the worker was cut off less than kEndLimit ago, so it may still exit by itself.
  [[nodiscard]] bool ends_soon() const {
    return cut_off_at_ && Clock::now() - *cut_off_at_ < kEndLimit;
  }
  /// If the worker was cut off (is_cut_off()) and has exited, reaps it and returns how it ended;
  /// otherwise nullopt. Kills a worker that still runs after kEndLimit. Never waits.
  std::optional<End> TryReap();
  /// Abandons a worker that cannot exit. ReapLeftBehind() reaps it if it exits later.
  void LeaveBehind();
  /// Kills the worker or the fetcher if its program has not reported within ten seconds. True if
  /// the worker cannot end and was abandoned. Call once a second.
  [[nodiscard]] bool WatchBegin();
  /// Forks a worker without executing a program, in place of a worker that ended before its program
  /// reported that it runs. False if no worker ended in this way, or the fork fails.
  [[nodiscard]] bool StartForked();
  /// Reaps the abandoned workers that have ended since.
  void ReapLeftBehind();
  [[nodiscard]] bool has_left_behind() const { return !left_behind_.empty(); }
  /// How the last worker ended: "was ended by signal 9"; "" after a normal end.
  [[nodiscard]] const std::string& last_end() const { return last_end_; }
  /// True if a worker was ended by SIGKILL in the last two seconds, but not by Kill(). A service
  /// manager that ends the whole service, because the kernel has killed a worker, does so within
  /// that time.
  [[nodiscard]] bool WasJustKilled() const;
  void NoteKill() { last_end_ = "was killed"; }
  /// Records that a worker could not take over, and schedules the next one.
  void NoteFailure(std::string_view reason);

  // --- The next worker ---------------------------------------------------------------------------

  /// Makes `program` the program of workers and their fetcher. Starts its first worker, or
  /// schedules another attempt if the start fails. Call after the old worker or caretaker has ended
  /// or was abandoned.
  void StartOf(Descriptor program);
  /// Makes an upgrade permanent, so GoBack() is no longer possible. Call after a worker of the new
  /// program has served.
  void Keep() { former_program_.reset(); }
  /// Makes the next workers run the program that was in use before the upgrade.
  void GoBack();
  /// Starts a worker to replace one that has ended, or schedules its start. Returns a message for
  /// the log.
  std::string Replace();
  /// Starts a scheduled worker when its time has come, and another fetcher if one has ended.
  /// Handles the heartbeat and the log. Call at least once a second.
  void Attend();
  [[nodiscard]] bool is_planned() const { return start_at_.has_value(); }
  void CancelPlan() { start_at_.reset(); }
  /// The reason why a caretaker answers requests in place of workers; "" while workers answer.
  [[nodiscard]] const std::string& errors_only() const { return errors_only_; }

 private:
  static constexpr auto kEndLimit = std::chrono::seconds(1);

  [[nodiscard]] Result<void> Start(bool takes_over, bool executes);
  [[noreturn]] void RunChild(WorkerStart start, bool executes);
  // True if the worker may send a message of this kind now. A worker sends kStarted, kOpened and
  // kReady in this order, and kFailed at any time. It sends each of them at most once. Heartbeats
  // may follow kReady.
  bool Expects(Message::Kind kind);
  void StartOrPlan();
  void LogAlarm();
  // Replaces worker and fetcher if they run different versions of their channel, which happens if
  // one of them is a copy of the keeper's process.
  void CheckVersions();

  const MountOptions& options_;
  const std::vector<std::string>& config_;
  const std::string& mountpoint_;
  Descriptor program_;
  Descriptor former_program_;  // the program before an upgrade, until Keep()
  StoreFetcher fetcher_{options_, config_, program_};
  const std::function<void()> in_child_;
  std::optional<Channel> channel_;
  pid_t pid_ = -1;                      // -1 if no worker runs
  Descriptor ids_;                      // the file of the IdJournal
  Descriptor ids_file_;                 // the file of the IdFile, if the option `ids` names one
  Descriptor source_;                   // see WorkerStart::source
  std::string last_end_;                // see last_end()
  std::deque<Clock::time_point> ends_;  // the times at which workers ended in the last kEndsPeriod
  std::optional<Clock::time_point> start_at_;  // when to start the next worker, while none exists
  std::string errors_only_;
  std::optional<Clock::time_point> cut_off_at_;
  std::vector<Message::Kind> received_;         // the messages received from the current worker
  std::string version_;                         // the version of the current worker
  std::optional<uint64_t> fetch_version_;       // the FetchChannel::kVersion of the current worker
  bool takes_over_ = false;                     // true if the current or last worker took over
  Beginning beginning_{mountpoint_, "worker"};  // for the current or last worker
  bool killed_here_ = false;                    // true if Kill() has killed the current worker
  std::optional<Clock::time_point> killed_at_;  // when another process last killed a worker
  std::vector<pid_t> left_behind_;
  Heartbeat heartbeat_;
  WorkerLog log_{mountpoint_};
};

}  // namespace zarrfs
