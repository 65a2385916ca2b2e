// A mount of a store that does not answer.
//
// The program fake_mount (fake_mount_main.cc: STORE MNT OPTIONS) copies STORE into a FakeStore that
// does not answer fast (if OPTIONS begin with "local,", one that should), mounts it, and takes
// orders from its standard input, a line each: "block PREFIX" stops all calls for such keys until
// "release"; "waiting N" waits until N calls hang. What takes
// longer than a second is told of. Each is answered by one line, "ok" or what went
// wrong.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tests/mount/programs.h"

namespace zarrfs {

class FakeMount {
 public:
  FakeMount(const std::filesystem::path& source, const std::string& options);
  ~FakeMount();
  FakeMount(const FakeMount&) = delete;
  FakeMount& operator=(const FakeMount&) = delete;

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return mountpoint_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return mountpoint_; }
  [[nodiscard]] std::string Log() const { return ReadFile(folder_ / "log"); }
  [[nodiscard]] Program& program() { return *program_; }
  /// Fails the test unless the answer is "ok".
  void Order(const std::string& order);

 private:
  TemporaryFolder folder_;
  std::filesystem::path mountpoint_;
  std::unique_ptr<Program> program_;
  int orders_ = -1;
  size_t answers_read_ = 0;
};

}  // namespace zarrfs
