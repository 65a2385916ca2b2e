#include "tests/mount/mounted.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "fs/process/upgrade.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {
namespace {

bool UnmountAt(const std::filesystem::path& mountpoint, bool detach) {
  if (geteuid() == 0) return umount2(mountpoint.c_str(), detach ? MNT_DETACH : 0) == 0;
  return RunProgram({"fusermount3", detach ? "-uz" : "-u", mountpoint}).code == 0;
}

}  // namespace

std::string EnterOwnMountNamespace() {
  if (geteuid() != 0) return "";
  if (unshare(CLONE_NEWNS) != 0) return std::string("no mount namespace: ") + std::strerror(errno);
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    // A chroot whose root is not a mount point has no mount that could be made private.
    if (errno == EINVAL) return "";
    return std::string("mounts cannot be made private: ") + std::strerror(errno);
  }
  std::ifstream mounts("/proc/self/mounts");
  for (std::string source, point, type, rest; mounts >> source >> point >> type;) {
    std::getline(mounts, rest);
    if (type == "fuse.zarrfs") umount2(point.c_str(), MNT_DETACH);
  }
  return "";
}

bool IsMounted(const std::filesystem::path& mountpoint) {
  return FindMount(mountpoint.string()).has_value();
}

Unmounted::~Unmounted() {
  for (int tries = 0; tries < 4 && IsMounted(mountpoint_); ++tries) {
    UnmountAt(mountpoint_, /*detach=*/true);
  }
}

FuseDeviceForUsers::FuseDeviceForUsers() {
  const std::filesystem::path devices = folder_.Folder("dev");
  const std::filesystem::path fuse = devices / "fuse";
  // Needs a tmpfs of its own, because the file system of temporary files may forbid devices.
  if (mount("zarrfs-test", devices.c_str(), "tmpfs", 0, "mode=755") != 0 ||
      mknod(fuse.c_str(), S_IFCHR | 0666, makedev(10, 229)) != 0 ||
      chmod(fuse.c_str(), 0666) != 0 ||
      mount(fuse.c_str(), "/dev/fuse", nullptr, MS_BIND, nullptr) != 0) {
    throw std::runtime_error(std::string("no /dev/fuse for users: ") + std::strerror(errno));
  }
}

TestMount::TestMount(const std::filesystem::path& source, const std::string& options,
                     const std::filesystem::path& at)
    : mountpoint_(at.empty() ? folder_.Folder("mnt") : at) {
  std::vector<std::string> words = {ProgramUnderTest("zarrfs"), source, mountpoint_, "-f"};
  if (!options.empty()) words.insert(words.end(), {"-o", options});
  program_ = std::make_unique<Program>(words, folder_ / "log", folder_ / "log");
  std::optional<int> code;
  const bool ready = Eventually(Seconds(10), [&] {
    code = program_->WaitFor(Seconds(0));
    return code || Log().find("is mounted at") != std::string::npos;
  });
  if (!ready || code) {
    ADD_FAILURE() << "no mount of " << source << ": " << Log();
    ended_ = true;
  }
}

TestMount::~TestMount() {
  const Unmounted whatever_happens(mountpoint_);
  if (!ended_) Unmount();
}

std::string TestMount::Log() const {
  // The keeper logs the lines of its worker before it answers AskForAlarm().
  const auto mounted = ended_ ? std::nullopt : FindMount(mountpoint_.string());
  if (mounted) static_cast<void>(AskForAlarm(program_->pid(), mounted->device));
  return ReadFile(folder_ / "log");
}

void TestMount::Unmount() {
  ended_ = true;
  // The mount stays busy until a killed program has closed its files.
  if (IsMounted(mountpoint_) &&
      !Eventually(Seconds(5), [&] { return UnmountAt(mountpoint_, /*detach=*/false); })) {
    ADD_FAILURE() << mountpoint_ << " stayed busy";
    UnmountAt(mountpoint_, /*detach=*/true);
  }
  const auto code = program_->WaitFor(Seconds(10));
  EXPECT_EQ(code, 0) << Log();
}

}  // namespace zarrfs
