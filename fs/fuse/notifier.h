// Notifier: notifies the kernel that the store has changed.
//
// Directory entries cached without a timeout must be invalidated when the store changes. If the
// affected entries are known and few, they are invalidated one by one. Otherwise one
// FUSE_NOTIFY_INC_EPOCH (Linux 6.16) makes the kernel look up every name again, which also drops
// the cached pages of files that are not open. On older kernels, directory entries have a timeout.
//
// A notification about one name cannot come too early: it waits for lookups and listings of the
// folder in progress, whose answers may be older than the change. A new epoch can come too early:
// the names in a READDIRPLUS reply get the epoch at which the kernel processes the reply
// (fuse_direntplus_link), not the epoch of the request. So a new epoch is sent two more times,
// after delays in which listings can finish.
//
// After Start(), a thread of the notifier sends the notifications, because the kernel may make the
// sender wait for requests in progress. Changes are batched: a batch is sent kGather after its
// first change, and at most one batch per kBurstPeriod. Thread-safe.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "fs/tree/invalidation.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class Notifier {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kGather{10};
  static constexpr std::chrono::seconds kBurstPeriod{1};

  /// See FindInvalidEntries().
  using FindNames = std::function<bool(const Changes& changes, EntryInvalidator& invalidator)>;
  /// The notifier's periodic work, which runs on its thread. Returns the time of its next run, and
  /// changes that must be invalidated before that run.
  using Sweep = std::function<std::pair<Clock::time_point, Changes>()>;

  /// Starts the notifier. Call once, after FUSE_INIT was answered. The callbacks run on the
  /// notifier's thread. The notifier and the session must live until the process ends. `has_names`:
  /// the kernel may have names from an earlier process; all of them are invalidated.
  void Start(fuse_session* session, bool use_epoch, bool has_names, FindNames find_names,
             Sweep sweep);

  /// True if one message can invalidate every name; false before Start() has tried it.
  [[nodiscard]] bool can_invalidate_all() const { return can_invalidate_all_.load(); }

  /// Queues changes of the store. Does not wait for the kernel.
  void Notify(const Changes& changes);

  /// Called before the store changes (Changes::is_coming). Immediately invalidates the names that
  /// `changes` will affect, and waits for the kernel. No name may be cached until the changes have
  /// happened.
  void NotifyNow(const Changes& changes);

 private:
  class Sender;

  void Run();
  // Runs the sweep, and returns the time of the next one.
  Clock::time_point SweepNow();
  void Send(Changes& changes);
  // Invalidates the affected names one by one. False if every name must be invalidated instead.
  bool SendNames(const Changes& changes);
  void InvalidateAll();
  // Schedules repetitions of InvalidateAll() after the delays in kRepeats.
  void RepeatInvalidateAll();
  void RepeatIfDue();

  fuse_session* session_ = nullptr;
  FindNames find_names_;
  Sweep sweep_;
  std::atomic<bool> can_invalidate_all_ = false;
  size_t repeats_ = 0;  // how often InvalidateAll() was repeated since RepeatInvalidateAll()
  Clock::time_point repeat_at_ = Clock::time_point::max();

  Mutex finding_;  // held while find_names_ runs, because only one thread may call it at a time
  Mutex mutex_;
  CondVar woken_;
  std::optional<Changes> pending_ GUARDED_BY(mutex_);
  Clock::time_point pending_since_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
