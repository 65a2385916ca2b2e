// FakeMount: a mount whose store can be made to hang.
//
// The program fake_mount (fake_mount_main.cc: STORE MNT OPTIONS) copies STORE into a FakeStore and
// mounts it. The FakeStore is a slow store, or a fast one if OPTIONS begin with "local,". The
// program reads orders from its standard input, one per line, and answers each with one line, "ok"
// or an error. Requests slower than a second are logged.
//
//   block PREFIX   blocks all calls for keys that begin with PREFIX
//   release        releases all calls
//   waiting N      waits until N calls are blocked
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
  /// Sends an order. Fails the test unless the answer is "ok".
  void Order(const std::string& order);

 private:
  TemporaryFolder folder_;
  std::filesystem::path mountpoint_;
  std::unique_ptr<Program> program_;
  int orders_ = -1;
  size_t answers_read_ = 0;
};

}  // namespace zarrfs
