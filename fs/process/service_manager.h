// `listens`: the mount is in the foreground. If it is in the background, no service manager waits,
// and the functions below do nothing.
#pragma once

#include <string>
#include <string_view>

namespace zarrfs {

class ServiceManager {
 public:
  /// `listens`: the mount is in the foreground. For a mount in the background no service manager
  /// waits, and the functions below do nothing.
  explicit ServiceManager(bool listens) : listens_(listens) {}

  /// Whether a service manager has started this process.
  [[nodiscard]] static bool Exists();

  /// Reports that the mount serves. `status` is one line, as in the output of `systemctl status`.
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
