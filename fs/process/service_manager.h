// ServiceManager: reports the state of a mount to the service manager that started it
// (sd_notify(3)).
#pragma once

#include <string>
#include <string_view>

namespace zarrfs {

class ServiceManager {
 public:
  /// `listens` is true if the mount is in the foreground. For a mount in the background no service
  /// manager waits, and the functions below do nothing.
  explicit ServiceManager(bool listens) : listens_(listens) {}

  /// True if a service manager has started this process.
  [[nodiscard]] static bool Exists();

  /// Reports that the mount is ready. `status` is one line, which `systemctl status` shows.
  void Ready(std::string_view status) const { Tell("READY=1\n" + Status(status)); }
  void Reloading() const;
  void Stopping(std::string_view status) const { Tell("STOPPING=1\n" + Status(status)); }
  void ShowStatus(std::string_view status) const { Tell(Status(status)); }

 private:
  static std::string Status(std::string_view status);
  void Tell(const std::string& state) const;

  const bool listens_;
};

}  // namespace zarrfs
