// Tests with real mounts. Run by root they live in a mount namespace of their own: whatever
// happens, nothing that they mount is seen by anybody else, and it is gone when they are.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/mount/fake_mount.h"

namespace {

// Why nothing can be mounted here; "" if it can.
std::string Obstacle() {
  if (access("/dev/fuse", F_OK) != 0) return "/dev/fuse is missing";
  if (geteuid() != 0) return "";
  if (unshare(CLONE_NEWNS) != 0) return std::string("no mount namespace: ") + std::strerror(errno);
  // (In a chroot whose root is no mount point there is nothing to make private: EINVAL.)
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 && errno != EINVAL) {
    return std::string("mounts cannot be made private: ") + std::strerror(errno);
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == zarrfs::kServeFakeStore) {
    return zarrfs::ServeFakeStore(argc - 2, argv + 2);
  }
  testing::InitGoogleTest(&argc, argv);
  umask(022);
  signal(SIGPIPE, SIG_IGN);
  const std::string programs = std::filesystem::path(ZARRFS_PROGRAM).parent_path();
  setenv("PATH", (programs + ":/usr/sbin:/usr/bin:/sbin:/bin").c_str(), 1);
  setenv("LC_ALL", "C", 1);
  if (const std::string obstacle = Obstacle(); !obstacle.empty()) {
    std::fprintf(stderr, "mount_test: %s\n", obstacle.c_str());
    return 1;
  }
  return RUN_ALL_TESTS();
}
