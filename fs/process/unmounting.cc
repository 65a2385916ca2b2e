#include "fs/process/unmounting.h"

#include <signal.h>
#include <spdlog/spdlog.h>

#include "fs/process/service_manager.h"

namespace zarrfs {

bool Unmounting::OnSignal(uint32_t number) {
  const auto unmounted = mount_.Unmount(/*detach=*/was_asked_);
  if (!unmounted && !was_asked_) {
    was_asked_ = true;
    // A service manager sends no second signal; it eventually kills all processes. So the keeper
    // detaches the mount by itself after kBusyLimit.
    const bool by_itself = number == SIGTERM && in_foreground_ && ServiceManager::Exists();
    if (by_itself) detach_at_ = Clock::now() + kBusyLimit;
    spdlog::warn("signal {}: {}: {}; {}", number, mount_.path(), unmounted.error().message,
                 by_itself ? fmt::format("it is detached in {} s", kBusyLimit.count())
                           : "a second signal detaches it");
    return false;
  }
  if (!unmounted) {
    spdlog::error("{}: cannot be detached: {}", mount_.path(), unmounted.error().message);
  }
  is_detached_ = was_asked_;
  return true;
}

bool Unmounting::TryAgain() {
  if (!detach_at_) return false;
  const bool detach = Clock::now() >= *detach_at_;
  if (!mount_.Unmount(detach) && !detach) return false;
  is_detached_ = detach;
  return true;
}

}  // namespace zarrfs
