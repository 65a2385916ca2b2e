// Beginning: tracks whether a child of the keeper has started to run its program after exec(2). The
// program cannot start if its libraries are missing or its file system hangs. The keeper then
// replaces the child with a forked copy of itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace zarrfs {

class Beginning {
 public:
  enum class Step {
    kNone,
    kKill,         // kill the child; returned once per child
    kLeaveBehind,  // abandon the child, because it cannot end
  };

  /// Watches a child of the mount at `mountpoint`, which must outlive this object. `what` is the
  /// name of the child in the log, such as "worker".
  Beginning(const std::string& mountpoint, std::string_view what)
      : mountpoint_(mountpoint), what_(what) {}

  /// Records that a child was started. `executes` is true if the child executes a program, which
  /// must then report that it runs.
  void OnStart(bool executes);
  /// Records that the child's program has reported that it is running.
  void OnBegun() { begun_ = true; }
  /// Records that the child has ended with `status`, from waitpid(2); nullopt if unknown.
  void OnEnd(std::optional<int> status);
  /// Returns what to do with a child whose program has not reported yet. Call once a second while a
  /// child exists.
  [[nodiscard]] Step Tick();
  /// Returns true, and logs the failure, if the child ended before its program ran. Later calls
  /// return false.
  [[nodiscard]] bool HasFailed();

  /// Logs that the program cannot be executed, and why (errno). Called in the forked child, which
  /// then does the program's work itself.
  void LogNoProgram() const;

 private:
  const std::string& mountpoint_;
  const std::string_view what_;
  bool executes_ = false;
  bool begun_ = false;
  int ticks_ = 0;       // calls of Tick() since the child started
  std::string failed_;  // how the child ended, such as "was ended by signal 9"
};

}  // namespace zarrfs
