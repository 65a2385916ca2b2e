// Upgrade: makes another program serve a live mount (`zarrfs --upgrade`). The next worker and
// fetcher run that program. The keeper continues to run its own program.
//
//   asker    the new program, run by root or by the mounting user. Opens a socket, and sends its
//            address to the keeper with SIGUSR1. Passes its own program file, and waits for the
//            report
//   trial    a child of the keeper that runs the new program: reads the start message of a worker
//            (fs/mount/start_message.h), checks that its answer to FUSE_INIT would be the same, and
//            opens the store. If the trial fails or takes too long, nothing changes, and the asker
//            gets the reason
//   keeper   asks the old worker to end, and starts a worker of the new program, which continues
//            as if the old one had crashed. If the new worker cannot serve, the keeper returns to
//            the old program
//
// Only root and the user of the keeper may ask. So a mount by root runs only programs that root has
// chosen, and a mount by another user runs programs only as that user.
//
// An asker can also request other live settings, or the state of the mount. These requests need no
// trial.
#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/mount/channel.h"
#include "fs/mount/start_message.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The keeper's side of an upgrade.
class Upgrade {
 public:
  enum class Step {
    kNone,
    kTry,     // an upgrade was requested: call Try() or Refuse()
    kCommit,  // the new program has passed its trial: call TakeProgram() or Refuse()
    kSet,     // other settings() were requested: call ReportSet()
    kTell,    // the state was requested: call ReportState()
  };

  Upgrade() = default;

  /// Handles SIGUSR1: connects to the program that sent the signal (the asker).
  void OnSignal(const signalfd_siginfo& signal);
  /// The descriptor that poll() must wait for; -1 for none.
  [[nodiscard]] int fd() const { return trial_ >= 0 ? trial_process_.get() : asker_.fd(); }
  /// Advances the upgrade and returns what the keeper must do. Call after each wait, and at least
  /// once a second.
  [[nodiscard]] Step Advance();

  /// Starts the trial of the new program with a worker's start message.
  void Try(StartMessage state);
  /// Returns the new program. After this call the upgrade ends with ReportServed().
  [[nodiscard]] Descriptor TakeProgram() { return std::move(program_); }
  /// True if TakeProgram() was called, but ReportServed() was not.
  [[nodiscard]] bool is_taken() const { return under_way_ && !program_; }
  /// Reports to the asker whether a worker of the new program serves. Does nothing unless
  /// is_taken().
  void ReportServed(const Result<void>& served);
  void ReportSet(const Result<void>& set) {
    set ? End({Message::Kind::kReady}) : Refuse(set.error().message);
  }
  void ReportState(dev_t mount, std::string_view alarm) {
    End({Message::Kind::kReady, {mount}, std::string(alarm)});
  }
  /// The requested settings, in the syntax of -o.
  [[nodiscard]] const std::string& settings() const { return settings_; }
  /// Tells the asker that nothing has changed, and why.
  void Refuse(std::string_view why) { End({Message::Kind::kFailed, {}, OneLine(why)}); }

 private:
  using Clock = std::chrono::steady_clock;

  explicit Upgrade(std::vector<pid_t> killed) : killed_(std::move(killed)) {}
  void End(const Message& report);
  Step OnTrialEnd(int status);

  Channel asker_;
  bool under_way_ = false;
  Descriptor program_;  // the program file that the asker passed
  std::string settings_;
  pid_t trial_ = -1;
  Descriptor trial_process_;
  Descriptor output_;  // the output of the trial
  Clock::time_point limit_;
  std::vector<pid_t> killed_;  // killed trials that have not been reaped yet
};

/// Called by the asking program: makes `keeper` serve its mount with the program file `program`.
/// Fails with the error that the keeper reports.
[[nodiscard]] Result<void> AskForUpgrade(pid_t keeper, const std::string& program);

/// Called by the asking program: requests other live settings (IsLive()), in the syntax of -o, from
/// the keeper of a mount.
[[nodiscard]] Result<void> AskToSet(pid_t keeper, const std::string& settings);

/// Asks `keeper` which problem the heartbeat of its worker shows; "" for none. Fails if there is no
/// reply within a second, or if the process is not the keeper of `mount`.
[[nodiscard]] Result<std::string> AskForAlarm(pid_t keeper, dev_t mount);

/// Runs a trial if the arguments are `zarrfs --try N …`, which the keeper passes. N is the
/// descriptor number of the memory file. Returns the exit code; nullopt for other arguments.
[[nodiscard]] std::optional<int> RunAsTrial(int argc, char** argv);

}  // namespace zarrfs
