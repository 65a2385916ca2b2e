// Unmounting: how a keeper unmounts after a signal. A mount in use is not unmounted at first; a
// second signal detaches it. A service manager sends no second signal, so after its signal the
// mount is detached when a time limit has passed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "fs/mount/own_mount.h"

namespace zarrfs {

class Unmounting {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long programs may use a mount after its service manager has sent a signal.
  static constexpr auto kBusyLimit = std::chrono::seconds(5);

  /// `mount` must outlive this object. `in_foreground`: a service manager may have started the
  /// process.
  Unmounting(OwnMount& mount, bool in_foreground) : mount_(mount), in_foreground_(in_foreground) {}

  /// Handles a signal. False if the mount is in use; the log says what happens next. True if the
  /// mount was unmounted or detached, or if neither is possible.
  [[nodiscard]] bool OnSignal(uint32_t number);
  /// Tries again to unmount after a signal from a service manager. Returns true once the mount is
  /// unmounted or detached. Call once a second.
  [[nodiscard]] bool TryAgain();
  /// After success, true if the mount was detached, so programs that use it keep it.
  [[nodiscard]] bool is_detached() const { return is_detached_; }

  /// True if a signal has arrived that did not unmount.
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
