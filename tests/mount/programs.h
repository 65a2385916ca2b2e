// Runs other programs with a deadline, so a broken mount cannot hang the tests.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

using Seconds = std::chrono::duration<double>;

/// The path of a program under test, in the folder $ZARRFS_PROGRAMS, by default the folder of this
/// program. So tests that were built without sanitizers can run programs that have them.
[[nodiscard]] std::string ProgramUnderTest(const std::string& name);

/// Sets an environment variable for programs that this process starts. The destructor unsets it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

/// True if the programs under test were built with this sanitizer ("address", "thread").
[[nodiscard]] bool HasSanitizer(const std::string& name);

/// The factor for limits of time and memory if the programs under test have sanitizers;
/// otherwise 1.
[[nodiscard]] double SanitizerFactor();

/// A running program, in its own process group. The destructor kills the group. If the tests are
/// killed, the program is killed, too. Only for the main thread.
class Program {
 public:
  /// `output`, `errors`: the files for stdout and stderr, which are created. `input`: the
  /// descriptor for stdin; -1 for /dev/null.
  Program(const std::vector<std::string>& words, const std::filesystem::path& output,
          const std::filesystem::path& errors, int input = -1);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void Signal(int signal_number) const;
  /// Waits for the end of the program. Returns its exit code, or 128 + the number of the signal
  /// that ended it; nullopt if it still runs.
  [[nodiscard]] std::optional<int> WaitFor(Seconds limit);

 private:
  pid_t pid_ = -1;
  std::optional<int> code_;
};

struct Outcome {
  int code = -1;  // see Program::WaitFor(); -1 if the program took too long and was killed
  std::string output;
  std::string errors;
};

/// Runs a program to its end, and waits until all processes that it started have closed its output.
[[nodiscard]] Outcome RunProgram(const std::vector<std::string>& words,
                                 Seconds limit = Seconds(20));

/// RunProgram() for a line of shell.
[[nodiscard]] Outcome Shell(const std::string& line, Seconds limit = Seconds(20));

/// A temporary folder that all users may enter. The destructor removes it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  /// The path of the subfolder `name`, which is created if it does not exist.
  [[nodiscard]] std::filesystem::path Folder(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

/// The contents of a file; "" if it cannot be read. Never throws.
[[nodiscard]] std::string ReadFile(const std::filesystem::path& path);

/// Polls `condition` until it is true. False if that takes longer than `limit`, times
/// SanitizerFactor().
template <typename Condition>
bool Eventually(Seconds limit, Condition&& condition);

/// The processes that run zarrfs for this mount point.
[[nodiscard]] std::vector<pid_t> DaemonsOf(const std::filesystem::path& mountpoint);

/// The keeper of the mount. Throws if there is none.
[[nodiscard]] pid_t KeeperOf(const std::filesystem::path& mountpoint);

/// The worker of the mount. Throws if there is none.
[[nodiscard]] pid_t WorkerOf(const std::filesystem::path& mountpoint);

void SleepFor(Seconds time);

// --- Implementation

template <typename Condition>
bool Eventually(Seconds limit, Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + limit * SanitizerFactor();
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    SleepFor(Seconds(0.005));
  }
  return true;
}

}  // namespace zarrfs
