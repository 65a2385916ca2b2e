// The start and the end of a mount.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs::life_test {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = ProgramUnderTest("zarrfs");

bool IsOneLine(const std::string& text) {
  return text.size() > 1 && text.find('\n') == text.size() - 1;
}

class LifeTest : public testing::Test {
 protected:
  // Expects that nothing is mounted, and that all processes of the mount have ended.
  void ExpectGone() {
    EXPECT_TRUE(Eventually(Seconds(5), [&] { return !IsMounted(mnt_); }));
    EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).empty(); }));
  }
  void ExpectServes() {
    EXPECT_TRUE(IsMounted(mnt_));
    EXPECT_EQ(ReadFile(mnt_ / "v2/a/0.1"), chunks_.at("0.1"));
  }
  // Expects that zarrfs fails with this code, and with one line that contains `words`.
  void ExpectRefused(const std::vector<std::string>& arguments, int code,
                     const std::string& words) {
    std::vector<std::string> line = {kProgram};
    line.insert(line.end(), arguments.begin(), arguments.end());
    const Outcome outcome = RunProgram(line);
    EXPECT_EQ(outcome.code, code) << outcome.errors;
    EXPECT_TRUE(IsOneLine(outcome.errors)) << outcome.errors;
    EXPECT_NE(outcome.errors.find(words), std::string::npos) << outcome.errors;
    EXPECT_EQ(outcome.output, "");
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
  const fs::path mnt_ = folder_.Folder("mnt");
  const Unmounted whatever_happens_{mnt_};
};

// --- Start

TEST_F(LifeTest, ReturnsOnceTheMountAnswers) {
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = RunProgram({kProgram, store_, mnt_});
    ASSERT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_EQ(outcome.errors, "");
    ExpectServes();
    ASSERT_EQ(umount2(mnt_.c_str(), 0), 0) << std::strerror(errno);
    ExpectGone();
  }
}

TEST_F(LifeTest, SaysWhoIsMounted) {
  const TestMount mount(store_, "", mnt_);
  EXPECT_EQ(RunProgram({"findmnt", "-no", "FSTYPE,SOURCE", mnt_.string()}).output,
            "fuse.zarrfs " + store_.string() + "\n");
}

TEST_F(LifeTest, HelpAndVersionArePrinted) {
  for (const std::string word : {"--help", "-h"}) {
    const Outcome help = RunProgram({kProgram, word});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.output.find("zarrfs STORE [MNT]"), std::string::npos);
  }
  for (const std::string word : {"--version", "-V"}) {
    const Outcome version = RunProgram({kProgram, word});
    EXPECT_EQ(version.code, 0);
    EXPECT_EQ(version.output.substr(0, 7), "zarrfs ");
  }
}

TEST_F(LifeTest, WrongUsageIsRefused) {
  ExpectRefused({}, 1, "missing");
  ExpectRefused({"/"}, 1, "mount point is missing");
  ExpectRefused({store_, mnt_, "-o", "veiw=v2"}, 1, "veiw");
  ExpectRefused({store_, mnt_, "-o", "view=v9"}, 1, "view=v9");
  ExpectRefused({store_, mnt_, "-o", "ttl=soon"}, 1, "ttl=soon");
  ExpectRefused({store_, mnt_, "--frobnicate"}, 1, "--frobnicate");
  ExpectRefused({store_, mnt_, "third"}, 1, "third");
  ExpectGone();
}

TEST_F(LifeTest, WhatIsNoStoreIsRefused) {
  ExpectRefused({folder_.Folder("empty"), mnt_}, 32, "not a Zarr store");
  ExpectRefused({folder_ / "nowhere", mnt_}, 32, "does not exist");
  ExpectRefused({store_ / "zarr.json", mnt_}, 32, "neither a folder nor a zip file");
  Replace(folder_ / "broken/zarr.json", "{");
  ExpectRefused({folder_ / "broken", mnt_}, 32, "zarr.json");
  ExpectGone();
}

TEST_F(LifeTest, UnfitMountPointIsRefused) {
  ExpectRefused({store_, folder_ / "nowhere"}, 32, "does not exist");
  ExpectRefused({store_, store_ / "zarr.json"}, 32, "not a directory");
  ExpectRefused({store_, store_}, 32, "not empty");
  ExpectGone();
  const TestMount mount(store_, "", mnt_);
  ExpectRefused({store_, mnt_}, 32, "already mounted");
  ExpectServes();
}

TEST_F(LifeTest, UntilDetachesTheMountWhenAProcessEnds) {
  for (const bool upgraded : {false, true}) {
    Program other({"sleep", "600"}, "/dev/null", "/dev/null");
    const std::string option = fmt::format("until={}", other.pid());
    const Outcome outcome = RunProgram({kProgram, store_, mnt_, "-o", option});
    ASSERT_EQ(outcome.code, 0) << outcome.errors;
    if (upgraded) {
      const Outcome upgrade = RunProgram({kProgram, "--upgrade", mnt_});
      ASSERT_EQ(upgrade.code, 0) << upgrade.errors;
    }
    ExpectServes();
    const int in_use = open((mnt_ / "v2/a/0.1").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(in_use, 0);
    other.Signal(SIGKILL);
    ExpectGone();
    close(in_use);
    ExpectRefused({store_, mnt_, "-o", fmt::format("until={}", 0x3FFFFFFF)}, 2, "until=");
  }
  ExpectRefused({store_, mnt_, "-o", "until=0"}, 1, "until=0");
  ExpectGone();
}

TEST_F(LifeTest, NonemptyMountsOverAFolderWithFiles) {
  Replace(mnt_ / "note", "covered while it is mounted");
  {
    const TestMount mount(store_, "nonempty", mnt_);
    ExpectServes();
    EXPECT_FALSE(fs::exists(mnt_ / "note"));
  }
  EXPECT_TRUE(fs::exists(mnt_ / "note"));
}

// mount(8) gives its helpers no PATH, so the default of the shell applies. This class mounts the
// programs on a folder of that default, only in the mount namespace of the tests.
class MountProgramTest : public LifeTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(geteuid(), 0U) << "only root can use mount(8) here";
    ASSERT_EQ(mount(fs::path(kProgram).parent_path().c_str(), "/usr/local/sbin", nullptr, MS_BIND,
                    nullptr),
              0)
        << std::strerror(errno);
  }
  const Unmounted program_too_{"/usr/local/sbin"};
};

TEST_F(MountProgramTest, MountsWithoutAnyOption) {
  // mount(8) adds "rw", mount.fuse(8) "dev,suid".
  const Outcome mounted = RunProgram({"mount", "-t", "fuse.zarrfs", store_, mnt_});
  ASSERT_EQ(mounted.code, 0) << mounted.errors;
  ExpectServes();
  EXPECT_EQ(RunProgram({"umount", mnt_}).code, 0);
  ExpectGone();
}

TEST_F(MountProgramTest, MountsALineOfFstab) {
  Replace(folder_ / "fstab",
          store_.string() + " " + mnt_.string() + " fuse.zarrfs defaults,user,nofail 0 0\n");
  const Outcome mounted = RunProgram({"mount", "-T", folder_ / "fstab", mnt_});
  ASSERT_EQ(mounted.code, 0) << mounted.errors;
  ExpectServes();
  EXPECT_EQ(RunProgram({"umount", mnt_}).code, 0);
  ExpectGone();
}

TEST_F(MountProgramTest, FailureIsToldWithItsExitCode) {
  const Outcome refused = RunProgram({"mount", "-t", "fuse.zarrfs", folder_.Folder("empty"), mnt_});
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.errors.find("not a Zarr store"), std::string::npos) << refused.errors;
  ExpectGone();
}

TEST_F(MountProgramTest, RemountChangesWhatItCanAndNamesWhatItCannot) {
  const auto has = [&](const std::string& flag) {
    return (FindMount(mnt_.string())->options + ",").find("," + flag + ",") != std::string::npos;
  };
  const std::vector<std::string> mount_it = {"mount", "-T", folder_ / "fstab", mnt_};
  Replace(folder_ / "fstab", store_.string() + " " + mnt_.string() + " fuse.zarrfs rw,fill=keep\n");
  ASSERT_EQ(RunProgram(mount_it).code, 0);
  EXPECT_TRUE(FindMount(mnt_.string())->options.starts_with("ro,")) << "whatever the line says";
  const pid_t keeper = KeeperOf(mnt_);
  const auto remount = [&](const std::string& options) {
    std::vector<std::string> words = mount_it;
    words.insert(words.begin() + 1, {"-o", "remount" + options});
    return RunProgram(words);
  };
  for (const std::string options : {"", ",ro", ",rw"}) {
    EXPECT_EQ(remount(options).code, 0) << options;
    EXPECT_TRUE(FindMount(mnt_.string())->options.starts_with("ro,nosuid,nodev")) << options;
  }
  EXPECT_TRUE(has("noexec"));
  EXPECT_EQ(remount(",exec=yes,noatime").code, 0);
  EXPECT_TRUE(!has("noexec") && has("noatime") && has("nosymfollow"));
  EXPECT_EQ(remount("").code, 0);
  EXPECT_TRUE(has("noexec") && !has("noatime") && has("nosymfollow"));
  // If fstab has no line, mount(8) reads the kernel's table.
  EXPECT_EQ(RunProgram({"mount", "-o", "remount,ro", mnt_}).code, 0);
  EXPECT_EQ(remount(",cache=5M,index_cache=6M").code, 0);
  const std::string options = ReadFile(mnt_ / ".zarrfs/options");
  EXPECT_NE(options.find("of 5242880 bytes"), std::string::npos) << options;
  EXPECT_NE(options.find("of 6291456 bytes"), std::string::npos) << options;
  const Outcome refused = remount(",view=v2");
  EXPECT_EQ(refused.code, 32);
  EXPECT_NE(refused.errors.find("zarrfs: " + mnt_.string() +
                                " must be unmounted and mounted again to change view=v2\n"),
            std::string::npos)
      << refused.errors;
  const Outcome other = RunProgram({kProgram, folder_.Folder("other"), mnt_, "-o", "remount"});
  EXPECT_EQ(other.code, 32);
  EXPECT_NE(other.errors.find("is a mount of " + store_.string()), std::string::npos);
  EXPECT_EQ(KeeperOf(mnt_), keeper);
  ExpectServes();
  EXPECT_EQ(RunProgram({"umount", mnt_}).code, 0);
  ExpectGone();
}

TEST_F(LifeTest, UserMountsAndUnmounts) {
  ASSERT_EQ(geteuid(), 0U) << "only root can become another user for this test";
  const FuseDeviceForUsers device;
  // Users may have no access to the folder of the program.
  fs::copy_file(kProgram, folder_ / "zarrfs");
  const fs::path mine = folder_.Folder("mine");
  const Unmounted mine_too(mine);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chown(mine.c_str(), kNobody, kNobody), 0);
  const std::string as_user =
      "exec setpriv --reuid=65534 --regid=65534 --clear-groups /bin/sh -c '" +
      (folder_ / "zarrfs").string() + " " + store_.string() + " " + mine.string();

  const Outcome outcome = Shell(as_user + " && cat " + (mine / "v2/a/0.1").string() +
                                " && fusermount3 -u " + mine.string() + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, chunks_.at("0.1"));
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mine).empty(); }));
  EXPECT_FALSE(IsMounted(mine));

  // A signal also ends the mount.
  ASSERT_EQ(Shell(as_user + "'").code, 0);
  EXPECT_TRUE(IsMounted(mine));
  EXPECT_TRUE(FindMount(mine.string())->options.starts_with("ro,nosuid,nodev,noexec,"));
  EXPECT_NE(Shell("setpriv --reuid=65534 --regid=65534 --clear-groups cat " +
                  (mine / ".zarrfs/options").string())
                .output.find("\ncapabilities: none\n"),
            std::string::npos);
  // Root may not access the mount, but --list shows its keeper, and whether the mount is dead.
  const auto list = [] { return RunProgram({kProgram, "--list"}).output; };
  EXPECT_NE(list().find(std::to_string(KeeperOf(mine)) + " " + mine.string()), std::string::npos)
      << list();
  kill(KeeperOf(mine), SIGTERM);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mine).empty(); }));
  EXPECT_FALSE(IsMounted(mine));

  ASSERT_EQ(Shell(as_user + "'").code, 0);
  kill(KeeperOf(mine), SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mine).empty(); }));
  EXPECT_NE(list().find("   dead " + mine.string()), std::string::npos) << list();
  const Outcome next = Shell(as_user + "'");
  EXPECT_EQ(next.code, 0) << next.errors;
  EXPECT_NE(next.errors.find("dead mount"), std::string::npos) << next.errors;
  EXPECT_EQ(DaemonsOf(mine).size(), 2U);
}

TEST_F(LifeTest, MountHasTheFlagsOfData) {
  fs::permissions(store_ / "zarr.json", fs::perms(0755));
  const auto can_execute = [&](const std::string& options) {
    EXPECT_EQ(RunProgram({kProgram, store_, mnt_, "-o", "view=v3" + options}).code, 0);
    const bool can = access((mnt_ / "zarr.json").c_str(), X_OK) == 0;
    EXPECT_TRUE(FindMount(mnt_.string())->options.ends_with(",nosymfollow"));
    EXPECT_EQ(RunProgram({"umount", mnt_}).code, 0);
    ExpectGone();
    return can;
  };
  EXPECT_FALSE(can_execute(""));
  EXPECT_TRUE(can_execute(",exec"));
  EXPECT_FALSE(can_execute(",exec,noexec"));
}

// --- End

TEST_F(LifeTest, UmountEndsTheProcess) {
  for (const std::string program : {"umount", "fusermount3 -u", "umount -l"}) {
    ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
    ASSERT_FALSE(DaemonsOf(mnt_).empty());
    const Outcome outcome = Shell(program + " " + mnt_.string());
    EXPECT_EQ(outcome.code, 0) << outcome.errors;
    ExpectGone();
  }
}

TEST_F(LifeTest, ProcessThatEndsLateLeavesTheNextMountAlone) {
  ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
  const auto old = DaemonsOf(mnt_);
  ASSERT_EQ(old.size(), 2U);
  for (const pid_t pid : old) kill(pid, SIGSTOP);
  ASSERT_EQ(umount2(mnt_.c_str(), UMOUNT_NOFOLLOW), 0) << std::strerror(errno);
  ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
  for (const pid_t pid : old) kill(pid, SIGCONT);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).size() == 2; }));
  ExpectServes();
  ASSERT_EQ(umount2(mnt_.c_str(), 0), 0) << std::strerror(errno);
  ExpectGone();
}

TEST_F(LifeTest, SignalUnmounts) {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
    kill(KeeperOf(mnt_), signal_number);
    ExpectGone();
  }
}

TEST_F(LifeTest, SignalInTheForegroundEndsWithSuccess) {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    TestMount mount(store_, "", mnt_);
    ExpectServes();
    mount.program().Signal(signal_number);
    EXPECT_EQ(mount.program().WaitFor(Seconds(5)), 0) << mount.Log();
    ExpectGone();
  }
}

TEST_F(LifeTest, BusyMountServesOnUntilTheSecondSignal) {
  TestMount mount(store_, "", mnt_);
  const int held = open((mnt_ / "v2/a/0.1").c_str(), O_RDONLY);
  ASSERT_GE(held, 0);
  mount.program().Signal(SIGTERM);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return mount.Log().find("busy") != std::string::npos; }))
      << mount.Log();
  ExpectServes();
  EXPECT_EQ(mount.program().WaitFor(Seconds(0.2)), std::nullopt);
  mount.program().Signal(SIGTERM);
  EXPECT_EQ(mount.program().WaitFor(Seconds(5)), 0) << mount.Log();
  EXPECT_FALSE(IsMounted(mnt_));
  close(held);
  ExpectGone();
}

TEST_F(LifeTest, WorkerEndsWithItsKeeper) {
  ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
  kill(KeeperOf(mnt_), SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).empty(); }));
  EXPECT_TRUE(IsMounted(mnt_));
  ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0) << "takes the place of what was left";
  ExpectServes();
}

TEST_F(LifeTest, WorkerThatHangsKeepsNobodyFromUnmounting) {
  TestMount mount(store_, "", mnt_);
  kill(WorkerOf(mnt_), SIGSTOP);
  mount.program().Signal(SIGTERM);
  EXPECT_TRUE(Eventually(Seconds(2), [&] { return !IsMounted(mnt_); }));
  EXPECT_EQ(mount.program().WaitFor(Seconds(8)), 0) << mount.Log();
  ExpectGone();
}

TEST_F(LifeTest, WorkerOfRootMayReadAnyStoreAndNothingElse) {
  ASSERT_EQ(geteuid(), 0U);
  constexpr uid_t kNobody = 65534;
  for (const auto& entry : fs::recursive_directory_iterator(store_)) {
    ASSERT_EQ(lchown(entry.path().c_str(), kNobody, kNobody), 0);
    fs::permissions(entry.path(), entry.is_directory() ? fs::perms(0700) : fs::perms(0600));
  }
  ASSERT_EQ(chown(store_.c_str(), kNobody, kNobody), 0);
  fs::permissions(store_, fs::perms(0700));
  const TestMount mount(store_, "", mnt_);
  ExpectServes();
  const std::string options = ReadFile(mnt_ / ".zarrfs/options");
  EXPECT_NE(options.find("\ncapabilities: cap_dac_read_search\n"), std::string::npos) << options;
  const auto field = [](const fs::path& status, const std::string& name) {
    const std::string text = ReadFile(status);
    const size_t at = text.find("\n" + name + ":\t");
    return at == std::string::npos ? "" : text.substr(at + name.size() + 3, 16);
  };
  const std::string proc = "/proc/" + std::to_string(WorkerOf(mnt_));
  size_t threads = 0;
  for (const auto& thread : fs::directory_iterator(proc + "/task")) {
    // The sanitizer started its own thread before main().
    if (HasSanitizer("thread") && thread.path().filename() != fs::path(proc).filename()) {
      ++threads;
      continue;
    }
    if (ReadFile(thread.path() / "status").empty()) continue;  // the thread has ended
    EXPECT_EQ(field(thread.path() / "status", "CapPrm"), "0000000000000004");
    EXPECT_EQ(field(thread.path() / "status", "CapBnd"), "0000000000000000");
    EXPECT_EQ(field(thread.path() / "status", "NoNewPrivs").substr(0, 1), "1");
    ++threads;
  }
  EXPECT_GE(threads, 2U);
  EXPECT_EQ(field("/proc/" + std::to_string(KeeperOf(mnt_)) + "/status", "CapPrm"),
            "00000000002000e4");
}

TEST_F(LifeTest, MountByRootIsForEverybodyUnlessToldOtherwise) {
  ASSERT_EQ(geteuid(), 0U);
  const auto read_as_user = [&](const std::string& name) {
    return RunProgram({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat",
                       (mnt_ / name).string()});
  };
  fs::permissions(store_ / "a/c/0/0", fs::perms(0600));
  {
    const TestMount mount(store_, "", mnt_);
    EXPECT_EQ(read_as_user("v2/a/.zarray").code, 0);
    EXPECT_NE(read_as_user("v2/a/0.1").code, 0) << "as the shard's mode has it";
  }
  const TestMount mount(store_, "noallow_other", mnt_);
  EXPECT_NE(read_as_user("v2/a/.zarray").code, 0);
  ExpectServes();
}

TEST_F(LifeTest, ListShowsTheMountsWithTheirProcesses) {
  const auto list_all = [] { return RunProgram({kProgram, "--list"}); };
  // The machine may have other mounts.
  const auto others = std::ranges::count(list_all().output, '\n');
  const fs::path blank = folder_.Folder("with blank");
  const Unmounted blank_too(blank);
  ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
  ASSERT_EQ(RunProgram({kProgram, store_, blank}).code, 0);
  const Outcome list = list_all();
  EXPECT_EQ(list.code, 0);
  const std::string pid = std::to_string(KeeperOf(mnt_));
  EXPECT_NE(list.output.find(pid + " " + mnt_.string()), std::string::npos) << list.output;
  EXPECT_NE(list.output.find(blank.string() + " " + store_.string() + " "), std::string::npos)
      << list.output;
  EXPECT_EQ(std::ranges::count(list.output, '\n'), others + 2) << list.output;
}

TEST_F(LifeTest, UnmountOptionEndsAMountButNoBusyOneAndNoOther) {
  TestMount mount(store_, "", mnt_);
  const int held = open((mnt_ / "v2/a/0.1").c_str(), O_RDONLY);
  ExpectRefused({"--unmount", mnt_}, 32, "is busy");
  ExpectServes();
  close(held);
  fs::create_directory_symlink(folder_.path(), folder_ / "link");
  const Outcome outcome = RunProgram({kProgram, "--unmount", folder_ / "link/mnt"});
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(mount.program().WaitFor(Seconds(5)), 0) << mount.Log();
  ExpectGone();
  ExpectRefused({"--unmount", mnt_}, 32, "is not mounted");
  ASSERT_EQ(::mount("zarrfs-test", mnt_.c_str(), "tmpfs", 0, ""), 0) << std::strerror(errno);
  ExpectRefused({"--unmount", mnt_}, 32, "is a mount of tmpfs, not of zarrfs");
  EXPECT_TRUE(IsMounted(mnt_));
}

TEST_F(LifeTest, UnmountingWhileThreadsReadEndsEverything) {
  TestMount mount(store_, "ttl=0", mnt_);
  std::atomic<bool> gone = false;
  std::atomic<int> reads = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&, i] {
      auto chunk = chunks_.begin();
      std::advance(chunk, i % 7);
      while (!gone) {
        const int fd = open((mnt_ / "v2/a" / chunk->first).c_str(), O_RDONLY);
        if (fd < 0) continue;
        std::string bytes(6000, '\0');
        const ssize_t have = read(fd, bytes.data(), bytes.size());
        close(fd);
        if (have < 0) continue;
        ++reads;
        if (bytes.substr(0, static_cast<size_t>(have)) != chunk->second) ++wrong;
        if (++chunk == chunks_.end()) chunk = chunks_.begin();
      }
    });
  }
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return reads > 1000; })) << reads;
  EXPECT_EQ(umount2(mnt_.c_str(), MNT_DETACH), 0) << std::strerror(errno);
  EXPECT_EQ(mount.program().WaitFor(Seconds(8)), 0) << mount.Log();
  gone = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  ExpectGone();
}

// --- Mounts and stores inside each other

class NestedTest : public LifeTest {
 protected:
  // The sorted paths of all files in a folder. The test fails if find(1) does not end in time.
  std::string Find(const fs::path& folder) {
    const Outcome outcome =
        Shell("cd " + folder.string() + " && find . -type f | sort", Seconds(5));
    EXPECT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_EQ(outcome.errors, "");
    return outcome.output;
  }
  const std::string expected_ = [this] {
    const TestMount elsewhere(store_);
    return Find(elsewhere.path());
  }();
};

TEST_F(NestedTest, MountPointInsideTheSourceIsNotPartOfIt) {
  fs::create_directory(store_ / "here");
  const TestMount mount(store_, "ttl=0", store_ / "here");
  EXPECT_EQ(Find(mount.path()), expected_);
  EXPECT_FALSE(fs::exists(mount / "v2/here"));
  EXPECT_FALSE(fs::exists(mount / "v3/here/v3/here"));
  EXPECT_EQ(ReadFile(store_ / "here/v2/a/0.1"), chunks_.at("0.1"));
}

TEST_F(NestedTest, MountPointInsideAnArrayIsNotPartOfIt) {
  fs::create_directory(store_ / "a/inside");
  const TestMount mount(store_, "ttl=0", store_ / "a/inside");
  EXPECT_EQ(Find(mount.path()), expected_);
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
}

TEST_F(NestedTest, MountPointInThePlaceOfAShardHidesNoChunk) {
  fs::create_directory(store_ / "a/c/1/1");
  const TestMount mount(store_, "ttl=0", store_ / "a/c/1/1");
  EXPECT_EQ(Shell("ls " + (mount / "v3/a/c/2").string()).output, "1\n2\n3\n");
  const Outcome cat = Shell("cat " + (mount / "v2/a/2.2").string());
  EXPECT_NE(cat.code, 0);
  EXPECT_NE(cat.errors.find("Input/output error"), std::string::npos) << cat.errors;
  EXPECT_EQ(ReadFile(mount / "v2/a/0.1"), chunks_.at("0.1"));
}

TEST_F(NestedTest, SourceMayLieUnderTheMountPoint) {
  const fs::path top = folder_.Folder("top");
  fs::rename(store_, top / "sample.zarr");
  const TestMount mount(top / "sample.zarr", "nonempty,ttl=0", top);
  EXPECT_EQ(Find(top), expected_);
  EXPECT_EQ(ReadFile(top / "v2/a/0.1"), chunks_.at("0.1"));
}

TEST_F(NestedTest, SourceMayBeItsOwnMountPoint) {
  const TestMount mount(store_, "nonempty,ttl=0", store_);
  EXPECT_EQ(Find(store_), expected_);
}

TEST_F(NestedTest, ViewOfAMountMayBeMountedAgain) {
  const TestMount below(store_);
  const TestMount above(below / "v3");
  EXPECT_EQ(ReadFile(above / "v2/a/0.1"), chunks_.at("0.1"));
  EXPECT_EQ(Find(above.path()), expected_);
}

TEST_F(NestedTest, MountOfAnotherStoreInsideTheSourceIsNotEntered) {
  const fs::path other = folder_ / "other.zarr";
  static_cast<void>(WriteSampleStore(other));
  fs::create_directory(store_ / "inner");
  fs::create_directory(other / "inner");
  // Each store contains the mount of the other one.
  const TestMount first(store_, "ttl=0", other / "inner");
  const TestMount second(other, "ttl=0", store_ / "inner");
  EXPECT_EQ(Find(first.path()), expected_);
  EXPECT_EQ(Find(second.path()), expected_);
  EXPECT_FALSE(fs::exists(first / "v3/inner"));
}

}  // namespace
}  // namespace zarrfs::life_test
