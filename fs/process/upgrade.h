// Replaces the program of a live mount by a newer one (`zarrfs --upgrade`).
//
//   asker    the new program, run by root or by the mounting user. Opens a socket, and tells the
//            keeper by SIGUSR1 where. Passes its own program file, and waits for the report
//   trial    a child of the keeper that runs the new program: reads what would be handed over,
//            computes what it would promise to the kernel, and opens the store. If it fails or
//            takes too long, nothing has changed, and the asker is told why
//   keeper   becomes the new program by exec(2): the same process, so the service manager, the
//            worker and the mount keep their keeper. What it had it finds in a memory file
//            (fs/mount/hand_over.h) and in inherited descriptors. It asks the old worker to end,
//            and starts one of its own, which goes on as if the old one had crashed
//
// Who may ask: root and the user of the keeper. So a mount by root runs no program but one that
// root named, and that of a user runs it as that user.
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
#include "fs/mount/hand_over.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The keeper's side.
class Upgrade {
 public:
  enum class Step {
    kNone,
    kTry,     // somebody has asked: Try() or Refuse()
    kCommit,  // the new program has passed its trial: Commit() or Refuse()
    kSet,     // somebody asks for other settings() instead: ReportSet()
    kTell,    // somebody asks for the state: ReportState()
  };

  Upgrade() = default;
  /// In the program that has taken over.
  explicit Upgrade(Channel asker) : asker_(std::move(asker)), under_way_(true) {}

  /// SIGUSR1 has come.
  void OnSignal(const signalfd_siginfo& signal);
  /// What poll() is to wait for, -1 if nothing.
  [[nodiscard]] int fd() const { return trial_ >= 0 ? trial_process_.get() : asker_.fd(); }
  /// Call after each wait, and at least once a second.
  [[nodiscard]] Step Advance();

  /// Starts the trial.
  void Try(HandOver state);
  /// Becomes the new program. Returns if that is impossible, and has told the asker.
  void Commit(HandOver state);
  void ReportSet(const Result<void>& set) {
    set ? End({Message::Kind::kReady}) : Refuse(set.error().message);
  }
  void ReportState(dev_t mount, std::string_view alarm) {
    End({Message::Kind::kReady, {mount}, std::string(alarm)});
  }
  /// As after -o.
  [[nodiscard]] const std::string& settings() const { return settings_; }
  /// Tells the asker that nothing has changed.
  void Refuse(std::string_view why) { End({Message::Kind::kFailed, {}, OneLine(why)}); }
  /// In the program that has taken over: tells the asker how that ended. Without effect elsewhere.
  void ReportTakeOver(const Result<void>& served);

 private:
  using Clock = std::chrono::steady_clock;

  explicit Upgrade(std::vector<pid_t> killed) : killed_(std::move(killed)) {}
  void End(const Message& report);
  Step OnTrialEnd(int status);

  Channel asker_;
  bool under_way_ = false;
  Descriptor program_;  // of the asker
  std::string settings_;
  pid_t trial_ = -1;
  Descriptor trial_process_;
  Descriptor output_;  // of the trial
  Clock::time_point limit_;
  std::vector<pid_t> killed_;  // trials that took too long
};

/// The asker's side: has the keeper become that program. Fails with what the keeper reports.
[[nodiscard]] Result<void> AskForUpgrade(pid_t keeper, const std::string& program);

/// The same for settings that can change while the store is mounted (IsLive()), as after -o.
[[nodiscard]] Result<void> AskToSet(pid_t keeper, const std::string& settings);

/// What is wrong with the worker of that mount, by its heartbeat; "" if nothing is. Fails after a
/// second, and if the process is not the keeper of the mount.
[[nodiscard]] Result<std::string> AskForAlarm(pid_t keeper, dev_t mount);

/// What a keeper runs: `zarrfs --can-take-over N` and `zarrfs --take-over N …`, where N is the
/// number of the memory file, and the other words are for ps(1). The exit code; nullopt if the
/// words are neither.
[[nodiscard]] std::optional<int> RunAsNextProgram(int argc, char** argv);

}  // namespace zarrfs
