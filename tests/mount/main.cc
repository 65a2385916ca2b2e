// Tests with real mounts.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "fs/process/execution.h"
#include "fs/process/fetcher_start.h"
#include "fs/process/worker_start.h"
#include "tests/mount/mounted.h"
#include "tests/mount/older_kernel.h"
#include "tests/mount/programs.h"

namespace {

// The reason why nothing can be mounted here; "" if mounts are possible.
std::string Obstacle() {
  if (access("/dev/fuse", F_OK) != 0) return "/dev/fuse is missing";
  return zarrfs::EnterOwnMountNamespace();
}

// Runs this program as the newer program of a mount. Files with the path of the mount point and a
// suffix choose what goes wrong. Returns the exit code; nullopt for any other command line.
[[nodiscard]] std::optional<int> TakePartInUpgrade(int argc, char** argv) {
  const std::string word = argc > 4 ? argv[1] : "";
  const std::string mountpoint = argc > 4 ? argv[4] : "";
  const auto says = [&](const char* what) { return std::filesystem::exists(mountpoint + what); };
  if (word == "--try") {
    if (says(".crashes")) std::abort();
    if (!says(".hangs")) return 0;
    close(creat((mountpoint + ".is_tried").c_str(), 0600));
    for (;;) pause();
  }
  if (word == "--serve" && says(".ends")) return 3;
  if (word == "--fetch" && says(".other")) {
    const auto start = zarrfs::TakeStart(argv[2], zarrfs::CheckFetcherStart);
    const uint32_t version = 99;
    if (start) static_cast<void>(!write(static_cast<int>(start->state.begun), &version, 4));
    for (;;) pause();
  }
  if (const auto code = zarrfs::RunAsWorker(argc, argv)) return code;
  return zarrfs::RunAsFetcher(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && (std::string(argv[1]) == zarrfs::kWithoutBeneath ||
                   std::string(argv[1]) == zarrfs::kWithoutFsopen)) {
    return zarrfs::RunOnOlderKernel(argc - 1, argv + 1);
  }
  if (const auto code = TakePartInUpgrade(argc, argv)) return *code;
  testing::InitGoogleTest(&argc, argv);
  umask(022);
  signal(SIGPIPE, SIG_IGN);
  const std::string programs =
      std::filesystem::path(zarrfs::ProgramUnderTest("zarrfs")).parent_path();
  setenv("PATH", (programs + ":/usr/sbin:/usr/bin:/sbin:/bin").c_str(), 1);
  setenv("LC_ALL", "C", 1);
  // Tests can be listed even where nothing can be mounted.
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  if (const std::string obstacle = Obstacle(); !obstacle.empty()) {
    std::fprintf(stderr, "mount_test: %s\n", obstacle.c_str());
    return 1;
  }
  return RUN_ALL_TESTS();
}
