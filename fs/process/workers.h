// The processes that answer the kernel for a mount, one after the other, as their keeper sees them:
// starts the next one, and notices when one has ended or cannot end. After more than five ends in a
// minute a caretaker answers (fs/fuse/caretaker.h), with errors.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fs/mount/channel.h"
#include "fs/mount/hand_over.h"
#include "fs/options/options.h"
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

  /// `config`: the words of the configuration file that are in force. `in_child` closes in a new
  /// child what only the keeper may have.
  Workers(const MountOptions& options, const std::vector<std::string>& config,
          const std::string& mountpoint, std::function<void()> in_child)
      : options_(options),
        config_(config),
        mountpoint_(mountpoint),
        in_child_(std::move(in_child)) {}

  /// What workers run (worker_start.h). Without it they are forked, and run on in the keeper's
  /// program.
  void set_program(Descriptor program) { program_ = std::move(program); }
  /// Goes on with those that another program hands over. Its descriptors must have been checked.
  void TakeOver(const HandOver& state);
  /// Writes down what the next program needs of them.
  void HandOverTo(HandOver& state) const;
  /// Before anything else, where workers can take over from each other.
  [[nodiscard]] Result<void> MakeJournal();
  /// Before the first worker, where the store is behind a network; else without effect.
  [[nodiscard]] Result<void> StartFetcher() { return fetcher_.Start(); }
  /// For poll(): readable once the fetcher has ended; -1 if there is none.
  [[nodiscard]] int fetcher_fd() const { return fetcher_.fd(); }

  // --- The one there is --------------------------------------------------------------------------

  /// `takes_over`: from another one.
  [[nodiscard]] Result<void> Start(bool takes_over);
  /// Whether there is one, or there was and its end was not yet taken note of (Reap).
  [[nodiscard]] bool is_there() const { return channel_.has_value(); }
  [[nodiscard]] const Channel& channel() const { return *channel_; }
  /// Without effect while there is none.
  bool Tell(const Message& message) const { return channel_ && channel_->Send(message); }
  void Kill();
  /// Whether it was killed, and a thread of it has not yet ended.
  [[nodiscard]] bool IsDying() const;
  /// Whether it serves nobody any more: it was killed, or it crashed and the kernel waits for all
  /// of its threads, or writes its core.
  [[nodiscard]] bool IsPastServing() const;
  /// For poll(); -1 if nothing can be received.
  [[nodiscard]] int fd() const { return channel_ && !cut_off_at_ ? channel_->fd() : -1; }
  /// Likewise, of its log, which Attend() takes.
  [[nodiscard]] int log_fd() const { return log_.fd(); }
  /// Its next message, when fd() is readable. nullopt for a heartbeat, and if it was cut off: at
  /// the end of the channel it has kEndLimit to end by itself; after a message that it may not send
  /// it is killed at once.
  std::optional<Message> Receive();
  /// What is wrong with it by its heartbeat; "" if nothing is.
  [[nodiscard]] std::string Alarm() const { return heartbeat_.Alarm(); }
  /// It has opened the store, whose root it passes.
  void set_source(Descriptor source) { source_ = std::move(source); }

  // --- Its end -----------------------------------------------------------------------------------

  struct End {
    bool by_signal = false;
    int number = 0;  // of the signal, or the exit code
  };
  /// Whether its channel has ended, or it sent what it may not send (Receive).
  [[nodiscard]] bool is_cut_off() const { return cut_off_at_.has_value(); }
  /// Whether it was cut off less than kEndLimit ago.
  [[nodiscard]] bool ends_soon() const {
    return cut_off_at_ && Clock::now() - *cut_off_at_ < kEndLimit;
  }
  /// How the worker that was cut off has ended; nullopt if it has not, or none was. Never waits.
  std::optional<End> TryReap();
  /// Waits no longer for it, which cannot end.
  void LeaveBehind();
  /// To be called about once a second: kills the one there is if its program says nothing for
  /// kBeginTicks such calls. True if it cannot end, and was left behind.
  [[nodiscard]] bool WatchBegin();
  /// Starts a worker that is forked, and runs no other program, in place of one that has ended
  /// before its program said that it runs. False if there is no such one.
  [[nodiscard]] bool StartForked();
  /// Those that were left behind and can end by now, do.
  void ReapLeftBehind();
  [[nodiscard]] bool has_left_behind() const { return !left_behind_.empty(); }
  /// How the last one ended: "was ended by signal 9"; "" if as it should.
  [[nodiscard]] const std::string& last_end() const { return last_end_; }
  /// Whether one was ended by SIGKILL just now, and not by Kill(): a service manager that ends
  /// everything because the kernel killed the worker does so by then.
  [[nodiscard]] bool WasJustKilled() const;
  void NoteKill() { last_end_ = "was killed"; }
  /// It could not take over.
  void NoteFailure(std::string_view reason);

  // --- The next one ------------------------------------------------------------------------------

  /// Starts the one that takes over from one that has ended, or plans to. Returns a line about it.
  std::string Replace();
  /// Starts one in place of one that was asked to end, or plans to.
  void StartOrPlan();
  /// To be called at least once a second: starts the one that was planned if it is time, and
  /// another fetcher if one has ended. Looks after the heartbeat and the log.
  void Attend();
  [[nodiscard]] bool is_planned() const { return start_at_.has_value(); }
  void CancelPlan() { start_at_.reset(); }
  /// Why a caretaker answers from now on; "": it does not.
  [[nodiscard]] const std::string& errors_only() const { return errors_only_; }

 private:
  static constexpr auto kEndLimit = std::chrono::seconds(1);
  // A program on a slow disk or server takes its time.
  static constexpr int kBeginTicks = 10;
  // How long a killed one may take.
  static constexpr int kReapTicks = 2;

  [[nodiscard]] Result<void> Start(bool takes_over, bool executes);
  [[noreturn]] void RunChild(WorkerStart start, bool executes);
  // A worker reports kStarted, kOpened, then kReady, and kFailed at any time, each once; beats from
  // kReady on.
  bool Expects(Message::Kind kind);
  void LogAlarm();

  const MountOptions& options_;
  const std::vector<std::string>& config_;
  const std::string& mountpoint_;
  Descriptor program_;
  StoreFetcher fetcher_{options_};
  const std::function<void()> in_child_;
  std::optional<Channel> channel_;
  pid_t pid_ = -1;                             // -1: there is none
  Descriptor ids_;                             // of the IdJournal
  Descriptor source_;                          // WorkerStart::source
  std::string last_end_;                       //
  std::deque<Clock::time_point> ends_;         // in the last kEndsPeriod
  std::optional<Clock::time_point> start_at_;  // the next one, while there is none
  std::string errors_only_;
  std::optional<Clock::time_point> cut_off_at_;
  std::vector<Message::Kind> received_;         // from the one there is
  bool takes_over_ = false;                     // the one there is, or was
  bool executes_ = false;                       // likewise: a program of its own
  int ticks_ = 0;                               // in which its program has said nothing
  bool began_ = true;                           // the last one, before it ended
  bool killed_here_ = false;                    // by Kill()
  std::optional<Clock::time_point> killed_at_;  // a worker, last, by others
  std::vector<pid_t> left_behind_;
  Heartbeat heartbeat_;
  WorkerLog log_{mountpoint_};
};

}  // namespace zarrfs
