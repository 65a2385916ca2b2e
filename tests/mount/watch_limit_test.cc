// A kernel that lets the daemon watch only a few folders.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::watch_limit_test {
namespace {

namespace fs = std::filesystem;

constexpr int kArrays = 12;  // each has at least two folders
constexpr std::string_view kWatches = "8";

bool WriteTo(const fs::path& path, std::string_view text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// Lets this process and its children watch only kWatches folders, by a new user namespace. In a
// chroot, where user namespaces are not available, changes the limit of the whole machine.
class FewWatches {
 public:
  FewWatches() {
    const std::string user = std::to_string(geteuid());
    const std::string group = std::to_string(getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) {
      (void)WriteTo("/proc/self/setgroups", "deny");
      in_force_ = WriteTo("/proc/self/uid_map", user + " " + user + " 1") &&
                  WriteTo("/proc/self/gid_map", group + " " + group + " 1") &&
                  WriteTo("/proc/sys/user/max_inotify_watches", kWatches);
      return;
    }
    before_ = ReadFile(kOfMachine);
    in_force_ = WriteTo(kOfMachine, kWatches);
  }
  ~FewWatches() {
    if (!before_.empty()) WriteTo(kOfMachine, before_);
  }
  FewWatches(const FewWatches&) = delete;
  FewWatches& operator=(const FewWatches&) = delete;

  [[nodiscard]] bool in_force() const { return in_force_; }

 private:
  static constexpr const char* kOfMachine = "/proc/sys/fs/inotify/max_user_watches";
  std::string before_;
  bool in_force_ = false;
};

std::string ArrayName(int i) { return "array" + std::to_string(i); }

void WriteArrays(const fs::path& store) {
  Replace(store / "zarr.json", GroupJson());
  for (int i = 0; i < kArrays; ++i) {
    Replace(store / ArrayName(i) / "zarr.json", SampleArrayOfStore().ZarrJson());
    Replace(store / ArrayName(i) / "c/0/0", EncodeShard(4, {{0, std::string(100, 'a')}}));
  }
}

void ReadUnderFewWatches() {
  const FewWatches few;
  ASSERT_TRUE(few.in_force()) << "the limit of inotify watches cannot be set";
  const TemporaryFolder folder;
  WriteArrays(folder / "sample.zarr");
  SleepFor(Seconds(0.05));
  TestMount mount(folder / "sample.zarr");
  for (int i = 0; i < kArrays; ++i) {
    EXPECT_EQ(ReadFile(mount / ("v2/" + ArrayName(i) + "/0.0")), std::string(100, 'a'));
  }
  const std::string options = ReadFile(mount / ".zarrfs/options");
  EXPECT_NE(options.find("elsewhere: checked for after a tenth of their age"), std::string::npos)
      << options;
  EXPECT_NE(options.find("fs.inotify.max_user_watches"), std::string::npos) << options;
  const std::string log = mount.Log();
  EXPECT_NE(log.find("fs.inotify.max_user_watches"), std::string::npos) << log;
  EXPECT_EQ(log.find("max_user_watches", log.find("max_user_watches") + 1), std::string::npos)
      << "told once: " << log;

  // Changes only an object in a folder that is not watched.
  const std::string last = ArrayName(kArrays - 1);
  Replace(folder / ("sample.zarr/" + last) / "c/0/0", EncodeShard(4, {{0, "other"}}));
  EXPECT_TRUE(
      Eventually(Seconds(8), [&] { return ReadFile(mount / ("v2/" + last + "/0.0")) == "other"; }));
  Replace(folder / "sample.zarr/late/zarr.json", SampleArrayOfStore().ZarrJson());
  EXPECT_TRUE(Eventually(Seconds(8), [&] { return fs::exists(mount / "v2/late/.zarray"); }));
}

TEST(WatchLimitTest, WithoutWatchesChangesAreSeenLaterAndNothingElseIsDifferent) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ReadUnderFewWatches();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see above";
}

}  // namespace
}  // namespace zarrfs::watch_limit_test
