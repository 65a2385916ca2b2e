// Beginning: tracks whether a child of the keeper has begun to run the program that it was started
// to execute. The program may have lost its libraries, or its file system may hang. The keeper then
// forks a copy of its own process to replace that child.
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

  /// Records that a child was started. `executes`: the child executes a program, which will report
  /// that it is running.
  void OnStart(bool executes);
  /// Records that the child's program has reported that it is running.
  void OnBegun() { begun_ = true; }
  /// Records that the child has ended with `status`, from waitpid(2); nullopt if unknown.
  void OnEnd(std::optional<int> status);
  /// Returns what to do with a child that has not begun. Call once a second while a child exists.
  [[nodiscard]] Step Tick();
  /// True, once, if the child has ended before its program ran. Also logs the failure.
  [[nodiscard]] bool HasFailed();

  /// Logs why the program cannot be executed, from errno. Called in the child, before it continues
  /// as a copy of the keeper.
  void LogNoProgram() const;

 private:
  const std::string& mountpoint_;
  const std::string_view what_;
  bool executes_ = false;
  bool begun_ = false;
  int ticks_ = 0;       // the number of calls of Tick() since the start of the child
  std::string failed_;  // how the child ended, such as "was ended by signal 9"
};

}  // namespace zarrfs
