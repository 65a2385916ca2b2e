// Other programs, run with a deadline: nothing that a mount does wrong may hang the tests.
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

/// The path of a program under test: in the folder $ZARRFS_PROGRAMS, by default that of this
/// program. So tests that were built without sanitizers can run programs that have them.
[[nodiscard]] std::string ProgramUnderTest(const std::string& name);

/// A variable of the environment of what this process starts.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

/// Whether the programs under test were built with this sanitizer ("address", "thread").
[[nodiscard]] bool HasSanitizer(const std::string& name);

/// The factor by which limits grow with the sanitizers of the programs.
[[nodiscard]] double SanitizerFactor();

/// A program under way in a process group of its own, which is killed when this goes, or when the
/// tests themselves are killed. For the main thread only.
class Program {
 public:
  /// `output` gets stdout, `errors` stderr; files that are created. `input`: a descriptor; -1 is
  /// /dev/null.
  Program(const std::vector<std::string>& words, const std::filesystem::path& output,
          const std::filesystem::path& errors, int input = -1);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void Signal(int signal_number) const;
  /// The exit code, 128 + the number of the signal that ended it, or nullopt if it runs on.
  [[nodiscard]] std::optional<int> WaitFor(Seconds limit);

 private:
  pid_t pid_ = -1;
  std::optional<int> code_;
};

struct Outcome {
  int code = -1;  // as Program::WaitFor; -1 if it had to be killed
  std::string output;
  std::string errors;
};

/// Runs a program to its end and waits until all that it started has let go of its output.
[[nodiscard]] Outcome RunProgram(const std::vector<std::string>& words,
                                 Seconds limit = Seconds(20));

/// The same for a line of shell.
[[nodiscard]] Outcome Shell(const std::string& line, Seconds limit = Seconds(20));

/// A folder that everybody may enter, removed in the end.
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
  /// A new empty folder.
  [[nodiscard]] std::filesystem::path Folder(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

/// All of a file; throws nothing, "" if it cannot be read.
[[nodiscard]] std::string ReadFile(const std::filesystem::path& path);

/// Asks again and again until `condition` holds; false if it does not in time.
template <typename Condition>
bool Eventually(Seconds limit, Condition&& condition);

/// The processes that run zarrfs for this mount point.
[[nodiscard]] std::vector<pid_t> DaemonsOf(const std::filesystem::path& mountpoint);

/// Of these, the one that takes signals and ends the mount. Throws if there is none.
[[nodiscard]] pid_t KeeperOf(const std::filesystem::path& mountpoint);

/// The one that answers the kernel. Throws if there is none.
[[nodiscard]] pid_t WorkerOf(const std::filesystem::path& mountpoint);

void SleepFor(Seconds time);

// --- Implementation
// ----------------------------------------------------------------------------------

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
