// Mounts that end with the test, whatever happens.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/mount/programs.h"

namespace zarrfs {

/// Whether something is mounted on exactly this folder.
[[nodiscard]] bool IsMounted(const std::filesystem::path& mountpoint);

/// Run by root, moves this process to a mount namespace of its own: whatever happens, nothing that
/// it mounts is seen by anybody else, and it is gone when the process is. Mounts of zarrfs that it
/// inherits are let go of, so that they can end while this process lives. Why that cannot be done;
/// "" if it was, or if this is not root.
[[nodiscard]] std::string EnterOwnMountNamespace();

/// Unmounts whatever is on `mountpoint` in the end, however it came there.
class Unmounted {
 public:
  explicit Unmounted(std::filesystem::path mountpoint) : mountpoint_(std::move(mountpoint)) {}
  ~Unmounted();
  Unmounted(const Unmounted&) = delete;
  Unmounted& operator=(const Unmounted&) = delete;

 private:
  const std::filesystem::path mountpoint_;
};

/// While it lives, users may open /dev/fuse, whatever the one of this machine is like. For root, in
/// its own mount namespace; throws if that fails.
class FuseDeviceForUsers {
 public:
  FuseDeviceForUsers();

 private:
  TemporaryFolder folder_;
  const Unmounted devices_{folder_ / "dev"};
  const Unmounted device_{"/dev/fuse"};
};

/// `zarrfs STORE MNT -f`, ready to use. In the end it is unmounted, and the test fails unless the
/// process then ends by itself with exit code 0: so a sanitizer's finding fails the test too.
class TestMount {
 public:
  /// Mounts on a new folder, or on `at`.
  explicit TestMount(const std::filesystem::path& source, const std::string& options = "",
                     const std::filesystem::path& at = {});
  ~TestMount();
  TestMount(const TestMount&) = delete;
  TestMount& operator=(const TestMount&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return mountpoint_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return mountpoint_ / name;
  }
  [[nodiscard]] Program& program() { return *program_; }
  /// With all lines that its worker has logged so far.
  [[nodiscard]] std::string Log() const;

  /// It has ended: nothing is expected of it any more.
  void Forget() { ended_ = true; }

  /// Unmounts now; a failure of the test if that does not work.
  void Unmount();

 private:
  TemporaryFolder folder_;
  std::filesystem::path mountpoint_;
  std::unique_ptr<Program> program_;
  bool ended_ = false;
};

}  // namespace zarrfs
