// Mounts that always end with their test.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/mount/programs.h"

namespace zarrfs {

/// True if something is mounted on exactly this folder.
[[nodiscard]] bool IsMounted(const std::filesystem::path& mountpoint);

/// For root, moves this process to its own mount namespace. Other processes do not see its mounts,
/// which end with it. Detaches inherited mounts of zarrfs, so they can end while this process
/// lives. Returns the reason for a failure; "" on success, and for other users.
[[nodiscard]] std::string EnterOwnMountNamespace();

/// The destructor unmounts all mounts on `mountpoint`.
class Unmounted {
 public:
  explicit Unmounted(std::filesystem::path mountpoint) : mountpoint_(std::move(mountpoint)) {}
  ~Unmounted();
  Unmounted(const Unmounted&) = delete;
  Unmounted& operator=(const Unmounted&) = delete;

 private:
  const std::filesystem::path mountpoint_;
};

/// While an object of this class exists, users may open /dev/fuse, regardless of the permissions of
/// the machine's device. Only for root in its own mount namespace. Throws on failure.
class FuseDeviceForUsers {
 public:
  FuseDeviceForUsers();

 private:
  TemporaryFolder folder_;
  const Unmounted devices_{folder_ / "dev"};
  const Unmounted device_{"/dev/fuse"};
};

/// A running `zarrfs STORE MNT -f`. The destructor unmounts it. The test fails unless the process
/// then exits with code 0, so the finding of a sanitizer also fails the test.
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
  /// The log, with all lines that the worker has logged so far.
  [[nodiscard]] std::string Log() const;

  /// Call if the process has ended, so the destructor does not unmount.
  void Forget() { ended_ = true; }

  /// Unmounts now. The test fails if that fails.
  void Unmount();

 private:
  TemporaryFolder folder_;
  std::filesystem::path mountpoint_;
  std::unique_ptr<Program> program_;
  bool ended_ = false;
};

}  // namespace zarrfs
