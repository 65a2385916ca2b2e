// Notifier: tells the kernel that the store has changed.
//
// Directory entries cached without a timeout must be invalidated when the store changes: one by
// one, if the affected entries are known and few. Otherwise one FUSE_NOTIFY_INC_EPOCH (Linux 6.16)
// makes the kernel look up every name again, which also drops the cached pages of files that nobody
// has open. For older kernels directory entries have a timeout.
//
// A notification about one name cannot come too early: it waits for lookups and listings of the
// folder in progress, whose answers may predate the change. A new epoch can: names in a READDIRPLUS
// get the epoch at the time its reader takes them from the answer (fuse_direntplus_link), not that
// of the request. So it is repeated twice, when readers have had the time.
//
// After Start(), messages are sent from a thread of the notifier's own: the kernel may make the
// sender wait for requests in progress. Changes are batched: sent kGather after the first, at most
// once per kBurstPeriod. Thread-safe.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "fs/tree/invalidation.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class Notifier {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kGather{10};
  static constexpr std::chrono::seconds kBurstPeriod{1};

  /// See FindInvalidEntries().
  using FindNames = std::function<bool(const Changes& changes, EntryInvalidator& invalidator)>;
  /// Periodic housekeeping, run here to save a thread; returns the time of its next run, and
  /// changes to be invalidated before that.
  using Sweep = std::function<std::pair<Clock::time_point, Changes>()>;

  /// Call once, after FUSE_INIT was answered. The callbacks run on the notifier's thread. The
  /// notifier and the session must live until the process ends. `has_names`: the kernel has names
  /// from an earlier process, which are all invalidated.
  void Start(fuse_session* session, bool use_epoch, bool has_names, FindNames find_names,
             Sweep sweep);

  /// Whether one message can invalidate every name. False until Start() has found out.
  [[nodiscard]] bool can_invalidate_all() const { return can_invalidate_all_.load(); }

  /// Queues changes of the store. Does not wait for the kernel.
  void Notify(const Changes& changes);

  /// Invalidates the names that `changes` will affect, at once, and waits for the kernel. No name
  /// may be cached until the changes have happened.
  void NotifyNow(const Changes& changes);

 private:
  class Sender;

  void Run();
  // Returns the time of the next sweep.
  Clock::time_point SweepNow();
  void Send(Changes& changes);
  // False if every name must be invalidated instead.
  bool SendNames(const Changes& changes);
  void InvalidateAll();
  // Schedules the repetitions of InvalidateAll().
  void RepeatInvalidateAll();
  void RepeatIfDue();

  fuse_session* session_ = nullptr;
  FindNames find_names_;
  Sweep sweep_;
  std::atomic<bool> can_invalidate_all_ = false;
  size_t repeats_ = 0;  // of InvalidateAll(), since its first call
  Clock::time_point repeat_at_ = Clock::time_point::max();

  std::mutex finding_;  // held while find_names_ runs, so that it has one caller at a time
  std::mutex mutex_;    // guards the rest
  std::condition_variable woken_;
  std::optional<Changes> pending_;
  Clock::time_point pending_since_;
};

}  // namespace zarrfs
