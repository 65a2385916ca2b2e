// Notifier: tells the kernel that the store has changed.
//
// Directory entries cached without a timeout must be invalidated when the store changes: those that
// the change may affect, one by one. Where these cannot be named, or are too many, one
// FUSE_NOTIFY_INC_EPOCH (Linux 6.16) makes the kernel look up every name again, which also costs it
// the pages of files that nobody has open. Older kernels give directory entries a timeout.
//
// A notice about one name cannot come too early: it waits for look-ups and listings of the folder
// in progress, whose answers may be from before the change. A new epoch can: names of a READDIRPLUS
// get the epoch of the moment when its reader takes them from the answer (fuse_direntplus_link),
// not of the question. So it is repeated twice, when readers have had the time.
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
  /// Periodic housekeeping, run here to save a thread; returns the time of its next run, and what
  /// is to be invalidated before that.
  using Sweep = std::function<std::pair<Clock::time_point, Changes>()>;

  /// Call once, after FUSE_INIT was answered. The callbacks run on the notifier's thread. The
  /// notifier and the session live until the process ends. `has_names`: the kernel has names of an
  /// earlier process, which are all invalidated.
  void Start(fuse_session* session, bool use_epoch, bool has_names, FindNames find_names,
             Sweep sweep);

  /// Whether one message invalidates every name. False until Start() has found out.
  [[nodiscard]] bool can_invalidate_all() const { return can_invalidate_all_.load(); }

  /// Queues changes of the store. Does not wait for the kernel.
  void Notify(const Changes& changes);

  /// Sends at once, and waits for the kernel, what invalidates names that `changes` are going to
  /// concern. No name may be cached before these have come.
  void NotifyNow(const Changes& changes);

 private:
  class Sender;

  void Run();
  // When to do it again.
  Clock::time_point SweepNow();
  void Send(Changes& changes);
  // False if every name must be invalidated.
  bool SendNames(const Changes& changes);
  void InvalidateAll();
  // From now on InvalidateAll() is repeated.
  void RepeatInvalidateAll();
  void RepeatIfDue();

  fuse_session* session_ = nullptr;
  FindNames find_names_;
  Sweep sweep_;
  std::atomic<bool> can_invalidate_all_ = false;
  size_t repeats_ = 0;  // of InvalidateAll(), since it was first called
  Clock::time_point repeat_at_ = Clock::time_point::max();

  std::mutex finding_;  // held while find_names_ runs: it has one caller at a time
  std::mutex mutex_;    // guards the rest
  std::condition_variable woken_;
  std::optional<Changes> pending_;
  Clock::time_point pending_since_;
};

}  // namespace zarrfs
