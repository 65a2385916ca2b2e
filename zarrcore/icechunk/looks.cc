#include "zarrcore/icechunk/looks.h"

#include <new>
#include <utility>

namespace zarrfs {

void IcechunkLooks::Start(Look look, ChangeListener listener,
                          const std::function<void(std::string_view)>& report) {
  look_ = std::move(look);
  listener_ = std::move(listener);
  // If the repository cannot be watched, it is still checked once per period.
  (void)container_->StartWatching(
      [wake = wake_](const Changes&) {
        const MutexLock lock(wake->mutex);
        wake->is_pending = true;
        wake->woken.notify_all();
      },
      report);
  // Makes the first check immediate, because the repository may have changed since the caller read
  // it.
  {
    const MutexLock lock(wake_->mutex);
    wake_->is_pending = true;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void IcechunkLooks::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool is_woken = false;
    {
      MutexLock lock(wake_->mutex);
      wake_->woken.wait_for(lock, stop, period_,
                            [&]() REQUIRES(wake_->mutex) { return wake_->is_pending; });
      is_woken = std::exchange(wake_->is_pending, false);
    }
    try {
      if (!stop.stop_requested()) look_(is_woken);
    } catch (const std::bad_alloc&) {
      // The check ran out of memory, and may already have changed something. Report that everything
      // has changed.
      Changes all;
      all.all = true;
      Report(all);
    }
  }
}

void IcechunkLooks::Announce(Changes& changes) const {
  changes.is_coming = true;
  changes.was_announced = false;
  listener_(changes);
}

void IcechunkLooks::Report(Changes& changes, const std::function<void()>& step) const {
  Announce(changes);
  if (step) step();
  changes.is_coming = false;
  changes.was_announced = true;
  listener_(changes);
}

}  // namespace zarrfs
