// Unmounting: unmounts on behalf of a keeper after a signal. The first signal leaves a mount in use
// mounted; the second detaches it. A service manager sends no second signal, so after its signal
// the mount is detached when a time limit has passed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "fs/mount/own_mount.h"

namespace zarrfs {

class Unmounting {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long a mount may stay in use after SIGTERM from a service manager, before it is detached.
  static constexpr auto kBusyLimit = std::chrono::seconds(5);

  /// `mount` must outlive this object. `in_foreground` is true if a service manager may have
  /// started the process.
  Unmounting(OwnMount& mount, bool in_foreground) : mount_(mount), in_foreground_(in_foreground) {}

  /// Handles a signal. False if the mount is in use; the log says what happens next. True if the
  /// mount was unmounted or detached, or if neither is possible.
  [[nodiscard]] bool OnSignal(uint32_t number);
  /// Tries again to unmount after a signal from a service manager. Returns true once the mount is
  /// unmounted or detached. Call once a second.
  [[nodiscard]] bool TryAgain();
  /// After success, true if the mount was detached, so programs can continue to use its open files.
  [[nodiscard]] bool is_detached() const { return is_detached_; }

  /// True if an earlier signal could not unmount, because the mount was in use.
  [[nodiscard]] bool was_asked() const { return was_asked_; }
  /// Makes the next signal detach the mount.
  void set_was_asked() { was_asked_ = true; }

 private:
  OwnMount& mount_;
  const bool in_foreground_;
  bool was_asked_ = false;
  bool is_detached_ = false;
  std::optional<Clock::time_point> detach_at_;
};

}  // namespace zarrfs
