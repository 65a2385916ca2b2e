// Tests with real mounts.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/mount/mounted.h"
#include "tests/mount/older_kernel.h"
#include "tests/mount/programs.h"

namespace {

// Why nothing can be mounted here; "" if it can.
std::string Obstacle() {
  if (access("/dev/fuse", F_OK) != 0) return "/dev/fuse is missing";
  return zarrfs::EnterOwnMountNamespace();
}

// As a new program that is tried and crashes, or makes a file and hangs (upgrade_test.cc).
[[noreturn]] void TakePartInUpgrade() {
  const char* const how = std::getenv("ZARRFS_TEST_TRIAL");
  if (how == nullptr || std::string(how) == "crash") std::abort();
  close(creat(how, 0600));
  for (;;) pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && (std::string(argv[1]) == zarrfs::kWithoutBeneath ||
                   std::string(argv[1]) == zarrfs::kWithoutFsopen)) {
    return zarrfs::RunOnOlderKernel(argc - 1, argv + 1);
  }
  if (argc > 1 && std::string(argv[1]) == "--can-take-over") TakePartInUpgrade();
  testing::InitGoogleTest(&argc, argv);
  umask(022);
  signal(SIGPIPE, SIG_IGN);
  const std::string programs =
      std::filesystem::path(zarrfs::ProgramUnderTest("zarrfs")).parent_path();
  setenv("PATH", (programs + ":/usr/sbin:/usr/bin:/sbin:/bin").c_str(), 1);
  setenv("LC_ALL", "C", 1);
  // What only asks which tests there are may be where nothing can be mounted.
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  if (const std::string obstacle = Obstacle(); !obstacle.empty()) {
    std::fprintf(stderr, "mount_test: %s\n", obstacle.c_str());
    return 1;
  }
  return RUN_ALL_TESTS();
}
