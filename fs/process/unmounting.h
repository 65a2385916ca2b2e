// Unmounting: how a keeper unmounts when a signal asks for it. A mount in use stays at first: a
// second signal detaches it, or time does where a service manager has sent the first one, which
// sends no second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "fs/mount/own_mount.h"

namespace zarrfs {

class Unmounting {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long programs may use a mount that its service is to end.
  static constexpr auto kBusyLimit = std::chrono::seconds(5);

  /// `mount` must live longer. `in_foreground`: the process may be that of a service.
  Unmounting(OwnMount& mount, bool in_foreground) : mount_(mount), in_foreground_(in_foreground) {}

  /// False if the mount is in use; the log says what happens next. True if it is unmounted,
  /// detached, or can be neither.
  [[nodiscard]] bool OnSignal(uint32_t number);
  /// The same once more, if a service manager waits for it. To be called each second.
  [[nodiscard]] bool TryAgain();
  /// Whether programs that use the mount keep it, after true.
  [[nodiscard]] bool is_detached() const { return is_detached_; }

  /// Whether a signal has come that did not unmount.
  [[nodiscard]] bool was_asked() const { return was_asked_; }
  /// The next signal detaches.
  void set_was_asked() { was_asked_ = true; }

 private:
  OwnMount& mount_;
  const bool in_foreground_;
  bool was_asked_ = false;
  bool is_detached_ = false;
  std::optional<Clock::time_point> detach_at_;
};

}  // namespace zarrfs
