// IcechunkLooks: checks a repository when it is reported to have changed, and once per period, on a
// separate thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "zarrcore/base/mutex.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// Calls a function that checks the repository. Thread-safe.
class IcechunkLooks {
 public:
  /// The function that checks the repository. `is_woken` is true for the first check, and if a
  /// change was reported since the previous check began.
  using Look = std::function<void(bool is_woken)>;

  IcechunkLooks(std::shared_ptr<const Store> container, Age period)
      : container_(std::move(container)), period_(period) {}

  /// Starts the checks; the first is immediate. `listener`: see Store::StartWatching(). If memory
  /// runs out during a check, the listener receives a report that everything has changed. Call only
  /// once.
  void Start(Look look, ChangeListener listener,
             const std::function<void(std::string_view)>& report);

  /// Calls the listener with Changes::is_coming, then `step`, which makes the changes, and then the
  /// listener with Changes::was_announced.
  void Report(Changes& changes, const std::function<void()>& step = {}) const;
  /// Calls the listener with Changes::is_coming, without making the changes. May be called several
  /// times before Report().
  void Announce(Changes& changes) const;

 private:
  // Shared with the listener of the container, which may outlive this object.
  struct Wake {
    Mutex mutex;
    std::condition_variable_any woken;
    bool is_pending GUARDED_BY(mutex) = false;
  };

  void Run(const std::stop_token& stop);

  const std::shared_ptr<const Store> container_;
  const Age period_;
  const std::shared_ptr<Wake> wake_ = std::make_shared<Wake>();
  Look look_;
  ChangeListener listener_;
  std::jthread thread_;  // destroyed first, because it uses the other members
};

}  // namespace zarrfs
