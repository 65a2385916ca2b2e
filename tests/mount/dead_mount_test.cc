// Mounts whose processes were killed, and the mounts that replace them.

#include "fs/mount/dead_mount.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fs/fuse/connection.h"
#include "tests/mount/looker.h"
#include "tests/mount/mounted.h"
#include "tests/mount/older_kernel.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs::dead_mount_test {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = ProgramUnderTest("zarrfs");
using Words = std::vector<std::string>;

// The errors of a dead mount. ECONNABORTED is for requests sent just before its death.
const std::set<int> kDead = {ENOTCONN, ECONNABORTED};

// The errno of opening a path; 0 on success.
int OpenError(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

class DeadMountTest : public testing::Test {
 protected:
  Outcome Mount(const Words& before = {}, const std::string& options = "ro") {
    Words words = before;
    words.insert(words.end(), {kProgram, store_, mnt_, "-o", options});
    return RunProgram(words);
  }
  // The words that start a program as if on an older kernel.
  static Words On(const std::string& older_kernel) { return {"/proc/self/exe", older_kernel}; }

  // Waits until all processes of the mount have ended. A worker that was killed while it pushed a
  // page for which a reader waits cannot end if its keeper was killed, too. In that case, aborts
  // the connection, as an administrator would.
  void AwaitEnd() {
    const auto have_ended = [&] { return DaemonsOf(mnt_).empty(); };
    if (Eventually(Seconds(5), have_ended)) return;
    const auto mounted = FindMount(mnt_.string());
    ASSERT_TRUE(mounted);
    const std::string control = (folder_ / "control").string();
    const Outcome aborted =
        Shell(fmt::format("mkdir {0} && mount -t fusectl none {0} && echo 1 >{0}/{1}/abort; "
                          "umount {0}; rmdir {0}",
                          control, minor(mounted->device)));
    ASSERT_TRUE(Eventually(Seconds(5), have_ended)) << aborted.errors;
  }
  // Kills the keeper. The worker ends with it.
  void KillKeeper() {
    kill(KeeperOf(mnt_), SIGKILL);
    AwaitEnd();
  }
  // Kills all processes of the mount at the same time.
  void KillAll() {
    const std::vector<pid_t> all = DaemonsOf(mnt_);
    for (const int number : {SIGSTOP, SIGKILL}) {
      for (const pid_t pid : all) kill(pid, number);
    }
    AwaitEnd();
  }
  void ExpectDead() {
    EXPECT_TRUE(IsMounted(mnt_));
    EXPECT_TRUE(kDead.contains(OpenError(mnt_ / "v2/a/never looked up")));
  }
  void ExpectServes() {
    EXPECT_EQ(ReadFile(mnt_ / "v2/a/0.1"), chunks_.at("0.1"));
    EXPECT_EQ(OpenError(mnt_ / "v2/a/never looked up"), ENOENT);
  }
  int MountsInTable() const {
    return static_cast<int>(std::ranges::count(MountTable(), mnt_.string(), &Mounted::path));
  }
  // Unmounts, and expects no other mount on the folder.
  void ExpectEndsInOrder() {
    EXPECT_EQ(RunProgram({"umount", mnt_}).code, 0);
    EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).empty(); }));
    EXPECT_EQ(MountsInTable(), 0);
  }
  // Kills and restarts zarrfs several times while a reader is at work.
  void ExpectReadersNeverSeeAbsence(const Words& before) {
    ASSERT_EQ(Mount(before).code, 0);
    Looker looker(mnt_ / "v2/a", chunks_);
    for (int i = 0; i < 5; ++i) {
      const int right = looker.right();
      EXPECT_TRUE(Eventually(Seconds(5), [&] { return looker.right() > right + 100; }));
      KillKeeper();
      const int failed = looker.failed();
      // The reader may not fail in this time, because cached pages can still be read.
      static_cast<void>(Eventually(Seconds(0.1), [&] { return looker.failed() > failed; }));
      const Outcome next = Mount(before);
      ASSERT_EQ(next.code, 0) << next.errors;
    }
    const std::set<int> errors = looker.Stop();
    EXPECT_EQ(errors.count(ENOENT), 0U);
    EXPECT_EQ(looker.wrong(), 0);
    ExpectServes();
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
  const fs::path mnt_ = folder_.Folder("mnt");
  const Unmounted whatever_happens_{mnt_};
};

TEST_F(DeadMountTest, GivesErrorsAndNothingInItIsAbsent) {
  TestMount mount(store_, "", mnt_);
  EXPECT_EQ(ReadFile(mnt_ / "v2/a/0.1"), chunks_.at("0.1"));
  mount.program().Signal(SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).empty(); }));
  mount.Forget();
  EXPECT_TRUE(IsMounted(mnt_));
  for (const std::string name : {"v2/a/0.0", "v3/a/c/0/0", "v2/a/.zarray", "v3/zarr.json"}) {
    EXPECT_TRUE(kDead.contains(OpenError(mnt_ / name))) << name;
  }
  DIR* const listing = opendir((mnt_ / "v3/a").c_str());
  EXPECT_EQ(listing, nullptr);
  if (listing != nullptr) closedir(listing);
  const Outcome ls = RunProgram({"ls", "-l", mnt_ / "v3"});
  EXPECT_NE(ls.code, 0);
  EXPECT_NE(ls.errors.find("Transport endpoint is not connected"), std::string::npos) << ls.errors;
}

// A service manager ends the keeper like this when memory runs out.
TEST_F(DeadMountTest, StaysWhenTheKeeperIsToldToEndAfterItsWorkerWasKilled) {
  TestMount mount(store_, "", mnt_);
  const pid_t worker = WorkerOf(mnt_);
  mount.program().Signal(SIGSTOP);
  kill(worker, SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    return ReadFile("/proc/" + std::to_string(worker) + "/stat").find(") Z ") != std::string::npos;
  }));
  mount.program().Signal(SIGTERM);
  mount.program().Signal(SIGCONT);
  EXPECT_EQ(mount.program().WaitFor(Seconds(5)), 2) << mount.Log();
  mount.Forget();
  ExpectDead();
}

TEST_F(DeadMountTest, IsNoneWhereEachSignalIsARequestToUnmount) {
  setenv("ZARRFS_OOM_POLICY", "continue", 1);
  TestMount mount(store_, "", mnt_);
  unsetenv("ZARRFS_OOM_POLICY");
  const pid_t worker = WorkerOf(mnt_);
  mount.program().Signal(SIGSTOP);
  kill(worker, SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    return ReadFile("/proc/" + std::to_string(worker) + "/stat").find(") Z ") != std::string::npos;
  }));
  mount.program().Signal(SIGTERM);
  mount.program().Signal(SIGCONT);
  EXPECT_EQ(mount.program().WaitFor(Seconds(10)), 0) << mount.Log();
  mount.Forget();
  EXPECT_FALSE(IsMounted(mnt_));
}

TEST_F(DeadMountTest, StaysWhenTheKeeperIsKilled) {
  ASSERT_EQ(Mount().code, 0);
  kill(KeeperOf(mnt_), SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).empty(); }));
  ExpectDead();
}

TEST_F(DeadMountTest, StaysWhenTheConnectionIsAborted) {
  TestMount mount(store_, "", mnt_);
  const int held = open((mnt_ / "v2/a/0.1").c_str(), O_RDONLY);
  EXPECT_NE(umount2(mnt_.c_str(), MNT_FORCE), 0) << "it is in use";
  EXPECT_EQ(mount.program().WaitFor(Seconds(8)), 2) << mount.Log();
  mount.Forget();
  EXPECT_NE(mount.Log().find("the connection was aborted"), std::string::npos) << mount.Log();
  close(held);
  ExpectDead();
}

// Mounts a FUSE file system whose requests nobody answers.
Descriptor MountUnanswered(const fs::path& at) {
  Descriptor device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  const std::string options =
      fmt::format("fd={},rootmode=40000,user_id=0,group_id=0", device.get());
  EXPECT_EQ(mount("nobody", at.c_str(), "fuse.other", MS_RDONLY, options.c_str()), 0);
  return device;
}

// The keeper aborts the connection if a killed worker waits in the kernel for its own replies.
TEST_F(DeadMountTest, AbortedIsThatConnectionAndNoOtherThatHasItsNumberByNow) {
  const std::string path = mnt_.string();
  Descriptor gone;
  Descriptor other;
  bool has_number = false;
  dev_t number = 0;
  for (int i = 0; i < 100 && !has_number; ++i) {  // other mounts also take numbers
    if (IsMounted(mnt_)) umount2(path.c_str(), MNT_DETACH);
    other.reset();
    gone = MountUnanswered(mnt_);
    number = FindMount(path)->device;
    ASSERT_TRUE(IsConnected(gone));
    umount2(path.c_str(), MNT_DETACH);
    other = MountUnanswered(mnt_);
    has_number = FindMount(path)->device == number;
  }
  ASSERT_TRUE(has_number);
  EXPECT_FALSE(IsConnected(gone));
  AbortConnection(gone, number, path);
  EXPECT_TRUE(IsConnected(other)) << "is innocent";
  constexpr unsigned kNobodys = (1U << 20) - 1;  // the largest number, which no other mount has
  AbortConnection(other, makedev(major(number), kNobodys), path);
  EXPECT_TRUE(IsConnected(other)) << "is another number";
  AbortConnection(other, number, path);
  EXPECT_FALSE(IsConnected(other));
}

TEST_F(DeadMountTest, IsReplacedByTheNextStart) {
  ASSERT_EQ(Mount().code, 0);
  KillAll();
  ExpectDead();
  const Outcome outcome = Mount({}, "noexec,noatime");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_NE(outcome.errors.find("dead mount"), std::string::npos) << outcome.errors;
  ExpectServes();
  const auto mounted = FindMount(mnt_.string());
  ASSERT_TRUE(mounted);
  EXPECT_EQ(mounted->options, "ro,nosuid,nodev,noexec,noatime,nosymfollow");
  EXPECT_EQ(mounted->source, store_.string());
  EXPECT_EQ(Shell("setpriv --reuid=65534 --regid=65534 --clear-groups cat " +
                  (mnt_ / "v2/a/.zarray").string())
                .code,
            0)
      << "a mount by root is for everybody";
  ExpectEndsInOrder();
}

TEST_F(DeadMountTest, ReadersNeverSeeTheBareFolderWhenItIsReplaced) {
  ExpectReadersNeverSeeAbsence({});
  EXPECT_LE(MountsInTable(), 2) << "dead mounts do not pile up";
  ExpectEndsInOrder();
}

TEST_F(DeadMountTest, IsMountedOverWhereNothingCanGoBeneathIt) {
  ExpectReadersNeverSeeAbsence(On(kWithoutBeneath));
  EXPECT_EQ(MountsInTable(), 2) << "one dead mount below the live one";
  ExpectEndsInOrder();
}

TEST_F(DeadMountTest, IsUnmountedFirstWhereNothingElseIsAllowed) {
  ASSERT_EQ(Mount().code, 0);
  KillKeeper();
  const Outcome next = Mount(On(kWithoutFsopen));
  EXPECT_EQ(next.code, 0) << next.errors;
  ExpectServes();
  ExpectEndsInOrder();
}

TEST_F(DeadMountTest, StaysWhenTheNextStartFails) {
  ASSERT_EQ(Mount().code, 0);
  KillKeeper();
  fs::rename(store_, folder_ / "away");
  EXPECT_EQ(Mount().code, 32);
  fs::create_directory(store_);
  EXPECT_EQ(Mount().code, 32);
  ExpectDead();
  EXPECT_EQ(MountsInTable(), 1);
}

TEST_F(DeadMountTest, ThatHidesItsOwnStoreIsUnmountedFirst) {
  const Words words = {kProgram, store_, store_, "-o", "nonempty"};
  const Unmounted store_too(store_);
  ASSERT_EQ(RunProgram(words).code, 0);
  kill(KeeperOf(store_), SIGKILL);
  ASSERT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(store_).empty(); }));
  const Outcome next = RunProgram(words);
  EXPECT_EQ(next.code, 0) << next.errors;
  EXPECT_EQ(ReadFile(store_ / "v2/a/0.1"), chunks_.at("0.1"));
}

TEST_F(DeadMountTest, IsLeftAloneByAFakeMount) {
  ASSERT_EQ(Mount().code, 0);
  KillKeeper();
  fs::create_symlink(kProgram, folder_ / "mount.zarrfs");
  const Outcome fake = RunProgram({folder_ / "mount.zarrfs", store_, mnt_, "-f"});
  EXPECT_EQ(fake.code, 0) << fake.errors;
  ExpectDead();
}

TEST_F(DeadMountTest, CannotBeRemounted) {
  ASSERT_EQ(Mount().code, 0);
  KillAll();
  const Outcome outcome = Mount({}, "remount");
  EXPECT_EQ(outcome.code, 32);
  EXPECT_NE(outcome.errors.find("is dead: mount it again, without remount"), std::string::npos)
      << outcome.errors;
}

TEST_F(DeadMountTest, IsListedAsDeadAndUnmountedThoughBusy) {
  ASSERT_EQ(Mount().code, 0);
  KillAll();
  const int held = open(mnt_.c_str(), O_PATH);
  const Outcome list = RunProgram({kProgram, "--list"});
  EXPECT_NE(list.output.find("   dead " + mnt_.string()), std::string::npos) << list.output;
  EXPECT_NE(list.errors.find("mount it again, or end it with zarrfs --unmount " + mnt_.string()),
            std::string::npos)
      << list.errors;
  EXPECT_EQ(RunProgram({kProgram, "--unmount", mnt_}).code, 0);
  close(held);
  EXPECT_EQ(MountsInTable(), 0);
}

}  // namespace
}  // namespace zarrfs::dead_mount_test
