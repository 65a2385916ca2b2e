// What a mount in the foreground tells the service manager that started it: sd_notify(3).
#pragma once

#include <string>
#include <string_view>

namespace zarrfs {

class ServiceManager {
 public:
  /// `listens`: the mount is in the foreground. In the background no service manager waits, and
  /// nothing below has an effect.
  explicit ServiceManager(bool listens) : listens_(listens) {}

  /// Whether one has started this process.
  [[nodiscard]] static bool Exists();

  /// The mount serves; `status` is one line, as `systemctl status` shows it.
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
