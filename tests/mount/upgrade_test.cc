// A newer program takes over a live mount.

#include "fs/process/upgrade.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/looker.h"
#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs::upgrade_test {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = ProgramUnderTest("zarrfs");

// Writes an array of bytes that are not compressed. Returns its chunks.
std::map<std::string, std::string> WritePlainArray(const fs::path& store) {
  const SampleArray array{.shape = {64}, .shard = {64}, .chunk = {32}, .compressed = false};
  const Chunks chunks = {{0, Pattern(32, 1)}, {1, Pattern(32, 2)}};
  Replace(store / "plain/zarr.json", array.ZarrJson());
  Replace(store / "plain/c/0", EncodeShard(2, chunks));
  return {{"0", chunks.at(0)}, {"1", chunks.at(1)}};
}

class UpgradeTest : public testing::Test {
 protected:
  static Outcome Upgrade(const fs::path& mountpoint, const std::string& program = kProgram) {
    return RunProgram({program, "--upgrade", mountpoint, "-v"});
  }
  // Expects exit code 32, and one line that contains `why`.
  static void ExpectRefused(const Outcome& outcome, const std::string& why) {
    EXPECT_EQ(outcome.code, 32) << outcome.output;
    EXPECT_NE(outcome.errors.find(why), std::string::npos) << outcome.errors;
    EXPECT_EQ(std::ranges::count(outcome.errors, '\n'), 1) << outcome.errors;
  }
  static void ExpectDone(const Outcome& outcome) { EXPECT_EQ(outcome.code, 0) << outcome.errors; }
  void ExpectServes() const {
    for (const auto& [name, bytes] : chunks_) EXPECT_EQ(ReadFile(mnt_ / "v2/a" / name), bytes);
  }
  // Starts a Looker for the chunks of an array in each view. The view netcdf needs an array whose
  // chunks can be decoded.
  std::vector<std::unique_ptr<Looker>> LookAtAllViews() {
    std::vector<std::unique_ptr<Looker>> lookers;
    for (const std::string view : {"v2", "v3", "gdal", "netcdf"}) {
      std::map<std::string, std::string>& files = files_[view];
      files = view == "netcdf" ? plain_ : chunks_;
      if (view == "v3") {
        files.clear();
        for (const auto& [name, bytes] : chunks_) {
          files["c/" + std::string(name).replace(name.find('.'), 1, "/")] = bytes;
        }
      }
      const fs::path array = mnt_ / view / (view == "netcdf" ? "plain" : "a");
      for (const auto& [file, bytes] : files) EXPECT_EQ(ReadFile(array / file), bytes);
      lookers.push_back(std::make_unique<Looker>(array, files));
    }
    return lookers;
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
  const std::map<std::string, std::string> plain_ = WritePlainArray(store_);
  const fs::path mnt_ = folder_.Folder("mnt");
  const Unmounted whatever_happens_{mnt_};
  std::map<std::string, std::map<std::string, std::string>> files_;
};

TEST_F(UpgradeTest, ReadersNoticeNothing) {
  for (const std::string options : {"", "ttl=0", "no_epoch"}) {
    TestMount mount(store_, options, mnt_);
    const uint64_t id = FindMount(mnt_.string())->id;
    const pid_t keeper = KeeperOf(mnt_);
    const auto lookers = LookAtAllViews();
    std::set<pid_t> workers = {WorkerOf(mnt_)};
    for (int i = 0; i < 10; ++i) {
      const int right = lookers[0]->right();
      EXPECT_TRUE(Eventually(Seconds(5), [&] { return lookers[0]->right() > right + 20; }));
      const Outcome outcome = Upgrade(mnt_);
      EXPECT_EQ(outcome.code, 0) << outcome.errors << mount.Log();
      EXPECT_NE(outcome.output.find(" is now served by zarrfs "), std::string::npos)
          << outcome.output;
      EXPECT_EQ(DaemonsOf(mnt_).size(), 2U);
      EXPECT_EQ(KeeperOf(mnt_), keeper);
      workers.insert(WorkerOf(mnt_));
    }
    EXPECT_EQ(workers.size(), 11U) << "each has a worker of its own";
    for (const auto& looker : lookers) {
      const int right = looker->right();
      EXPECT_TRUE(Eventually(Seconds(5), [&] { return looker->right() > right + 20; }));
      EXPECT_EQ(looker->Stop(), std::set<int>());
      EXPECT_EQ(looker->wrong(), 0);
    }
    EXPECT_EQ(FindMount(mnt_.string())->id, id) << "it is the same mount";
    EXPECT_EQ(mount.Log().find("another one takes over"), std::string::npos) << mount.Log();
    mount.Unmount();
  }
}

TEST_F(UpgradeTest, ProgramThatIsNamedServesFromThenOn) {
  ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
  const fs::path other = folder_.Folder("new") / "zarrfs";
  fs::copy_file(kProgram, other);
  const pid_t keeper = KeeperOf(mnt_);
  const Outcome outcome = Upgrade(mnt_, other);
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  const auto program_of = [](pid_t pid) {
    EXPECT_EQ(ReadFile("/proc/" + std::to_string(pid) + "/comm"), "zarrfs\n");
    return fs::read_symlink("/proc/" + std::to_string(pid) + "/exe");
  };
  EXPECT_EQ(program_of(WorkerOf(mnt_)), other);
  EXPECT_EQ(program_of(keeper), kProgram);
  ExpectServes();
  const std::string options = ReadFile(mnt_ / ".zarrfs/options");
  EXPECT_NE(options.find("pid: " + std::to_string(keeper) + "\n"), std::string::npos) << options;
  const Outcome list = RunProgram({kProgram, "--list"});
  EXPECT_NE(list.output.find(" " + std::to_string(keeper) + " " + mnt_.string() + " "),
            std::string::npos)
      << list.output;
  // Goes back to the first program, with --all.
  EXPECT_EQ(RunProgram({kProgram, "--upgrade", "--all"}).code, 0);
  EXPECT_EQ(program_of(WorkerOf(mnt_)), kProgram);
  ExpectServes();
  EXPECT_EQ(RunProgram({kProgram, "--unmount", mnt_}).code, 0);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).empty(); }));
}

TEST_F(UpgradeTest, OpenFilesAndWorkingFoldersGoOn) {
  const TestMount mount(store_, "", mnt_);
  ASSERT_EQ(mkfifo((folder_ / "orders").c_str(), 0600), 0);
  const int orders = open((folder_ / "orders").c_str(), O_RDWR | O_CLOEXEC);
  Program resident({"sh", "-c", "cd " + (mnt_ / "v3/a").string() + " && read line && cat c/0/1"},
                   folder_ / "output", folder_ / "errors", orders);
  const int folder = open((mnt_ / "v3/a/c/0").c_str(), O_RDONLY | O_DIRECTORY);
  const int chunk = open((mnt_ / "v2/a/1.1").c_str(), O_RDONLY);
  ASSERT_TRUE(folder >= 0 && chunk >= 0);
  struct stat before = {};
  ASSERT_EQ(fstat(chunk, &before), 0);
  for (int i = 0; i < 2; ++i) ExpectDone(Upgrade(mnt_));
  std::string bytes(8192, '\0');
  const ssize_t size = pread(chunk, bytes.data(), bytes.size(), 0);
  EXPECT_EQ(bytes.substr(0, static_cast<size_t>(std::max<ssize_t>(size, 0))), chunks_.at("1.1"));
  struct stat after = {};
  EXPECT_EQ(stat((mnt_ / "v2/a/1.1").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(fstatat(folder, "1", &after, 0), 0) << std::strerror(errno);
  EXPECT_EQ(write(orders, "go\n", 3), 3);
  EXPECT_EQ(resident.WaitFor(Seconds(5)), 0) << ReadFile(folder_ / "errors");
  EXPECT_EQ(ReadFile(folder_ / "output"), chunks_.at("0.1"));
  for (const int each : {folder, chunk, orders}) close(each);
}

TEST_F(UpgradeTest, ProgramThatCannotTakeOverChangesNothing) {
  // Keepers of an earlier and of a later program.
  for (const std::string format : {"1", "77"}) {
    TestMount mount(store_, "start_format=" + format, mnt_);
    const pid_t worker = WorkerOf(mnt_);
    ExpectRefused(Upgrade(mnt_), ", found " + format + ": unmount and mount again");
    EXPECT_EQ(WorkerOf(mnt_), worker);
    ExpectServes();
    mount.Unmount();
  }

  // The test's own program is the new program, and crashes.
  std::ofstream(mnt_.string() + ".crashes");
  const TestMount again(store_, "", mnt_);
  const pid_t second = WorkerOf(mnt_);
  const auto asked = AskForUpgrade(KeeperOf(mnt_), "/proc/self/exe");
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().message, "the new program was ended by signal 6 when it was tried");
  // The new program does not find the store.
  fs::rename(store_, folder_ / "elsewhere");
  ExpectRefused(Upgrade(mnt_), "was not upgraded from zarrfs");
  fs::rename(folder_ / "elsewhere", store_);
  EXPECT_EQ(WorkerOf(mnt_), second);
  // A refused upgrade does not prevent the next one.
  ExpectDone(Upgrade(mnt_));
  ExpectServes();
}

TEST_F(UpgradeTest, ProgramThatHangsIsGivenUp) {
  std::ofstream(mnt_.string() + ".hangs");
  const TestMount mount(store_, "", mnt_);
  const auto lookers = LookAtAllViews();
  const pid_t worker = WorkerOf(mnt_);
  std::string reason;
  std::thread asker([&, keeper = KeeperOf(mnt_)] {
    const auto asked = AskForUpgrade(keeper, "/proc/self/exe");
    if (!asked) reason = asked.error().message;
  });
  EXPECT_TRUE(Eventually(Seconds(9), [&] { return fs::exists(mnt_.string() + ".is_tried"); }));
  ExpectRefused(Upgrade(mnt_), "another upgrade is under way");
  asker.join();
  EXPECT_EQ(reason, "the new program could not open the store within 10 s");
  EXPECT_EQ(WorkerOf(mnt_), worker);
  for (const auto& looker : lookers) {
    EXPECT_EQ(looker->Stop(), std::set<int>());
    EXPECT_EQ(looker->wrong(), 0);
  }
}

TEST_F(UpgradeTest, StoreThatDoesNotAnswerKeepsNobodyWaiting) {
  const TestMount below(store_);
  const TestMount above(below / "v3", "", mnt_);
  ExpectServes();
  const pid_t server = WorkerOf(below.path());
  kill(server, SIGSTOP);
  const Outcome outcome = Upgrade(mnt_);
  kill(server, SIGCONT);
  ExpectRefused(outcome, "does not answer");
  ExpectServes();
}

TEST_F(UpgradeTest, SettingsInForceStayWhateverTheFileSaysByNow) {
  const fs::path config = folder_ / "ocean.conf";
  const auto write = [&](const std::string& view, const std::string& cache) {
    Replace(config, "source = " + store_.string() + "\nview = " + view + "\ncache = " + cache +
                        "\numask = 077\n");
  };
  write("v2", "2M");
  Program program({kProgram, "--config", config, mnt_, "-f", "-o", "ttl=7"}, folder_ / "log",
                  folder_ / "log");
  const auto says = [&](const std::string& line) {
    return Eventually(Seconds(5), [&] {
      return ReadFile(mnt_ / ".zarrfs/options").find("\n" + line + "\n") != std::string::npos;
    });
  };
  ASSERT_TRUE(Eventually(Seconds(5), [&] {
    return ReadFile(folder_ / "log").find("is mounted at") != std::string::npos;
  })) << "it takes no signals before";
  ASSERT_TRUE(says("view: v2"));
  // A reload changes only options that can change. Others need a new mount.
  write("v3", "3M");
  program.Signal(SIGHUP);
  program.Signal(SIGUSR2);
  ASSERT_TRUE(says("cache: 0 of 3145728 bytes")) << ReadFile(folder_ / "log");
  ASSERT_TRUE(says("log_level: debug"));
  write("gdal", "4M");
  for (int i = 0; i < 2; ++i) {
    ExpectDone(Upgrade(mnt_));
    EXPECT_TRUE(says("view: v2"));
    EXPECT_TRUE(says("cache: 0 of 3145728 bytes"));
    EXPECT_TRUE(says("changes: checked for every 7 s (ttl)"));
    EXPECT_TRUE(says("log_level: debug"));
    EXPECT_TRUE(says("capabilities: cap_dac_read_search"));
    struct stat info = {};
    EXPECT_EQ(stat((mnt_ / "a/0.1").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0400U);
  }
  // SIGHUP still reloads the file.
  program.Signal(SIGHUP);
  EXPECT_TRUE(says("cache: 0 of 4194304 bytes"));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.WaitFor(Seconds(5)), 0) << ReadFile(folder_ / "log");
}

TEST_F(UpgradeTest, StoreThatTheMountHidesIsFoundAgain) {
  const Unmounted store_too(store_);
  ASSERT_EQ(RunProgram({kProgram, store_, store_, "-o", "nonempty"}).code, 0);
  for (int i = 0; i < 2; ++i) {
    ExpectDone(Upgrade(store_));
    EXPECT_EQ(ReadFile(store_ / "v2/a/0.1"), chunks_.at("0.1"));
    EXPECT_EQ(ReadFile(store_ / "v2/a/1.1"), chunks_.at("1.1"));
  }
}

TEST_F(UpgradeTest, FolderThatWasMadeForTheMountIsRemovedInTheEnd) {
  const fs::path made = folder_ / "sample";
  const Unmounted made_too(made);
  ASSERT_EQ(Shell("cd " + folder_.path().string() + " && " + kProgram + " sample.zarr").code, 0);
  ExpectDone(Upgrade(made));
  EXPECT_EQ(ReadFile(made / "v2/a/0.1"), chunks_.at("0.1"));
  EXPECT_EQ(RunProgram({kProgram, "--unmount", made}).code, 0);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return !fs::exists(made); }));
}

TEST_F(UpgradeTest, OnlyRootAndTheMountingUserMayAsk) {
  ASSERT_EQ(geteuid(), 0U) << "only root can become another user for this test";
  const FuseDeviceForUsers device;
  const fs::path program =
      folder_ / "zarrfs";  // users may have no access to the folder of kProgram
  fs::copy_file(kProgram, program);
  ASSERT_EQ(chown(mnt_.c_str(), 65534, 65534), 0);
  const auto as_user = [&](const std::string& user, const std::vector<std::string>& words) {
    std::vector<std::string> all = {"setpriv", "--reuid=" + user, "--regid=" + user,
                                    "--clear-groups", program};
    all.insert(all.end(), words.begin(), words.end());
    return RunProgram(all);
  };
  const Outcome mounted = as_user("65534", {store_, mnt_});
  ASSERT_EQ(mounted.code, 0) << mounted.errors;
  const auto see = [&] {
    return RunProgram({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat",
                       mnt_ / "v2/a/0.1"})
        .output;
  };
  pid_t worker = WorkerOf(mnt_);
  const Outcome other = as_user("65533", {"--upgrade", mnt_});
  EXPECT_EQ(other.code, 32);
  EXPECT_NE(other.errors.find("only that user and root"), std::string::npos) << other.errors;
  EXPECT_EQ(as_user("65533", {"--upgrade", "--all"}).code, 0) << "of his own there are none";
  EXPECT_EQ(WorkerOf(mnt_), worker);
  for (const bool by_root : {false, true}) {
    const Outcome outcome = by_root ? RunProgram({program, "--upgrade", "--all"})
                                    : as_user("65534", {"--upgrade", mnt_});
    EXPECT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_NE(WorkerOf(mnt_), worker);
    worker = WorkerOf(mnt_);
    EXPECT_EQ(see(), chunks_.at("0.1"));
    EXPECT_NE(ReadFile("/proc/" + std::to_string(worker) + "/status").find("\nUid:\t65534\t65534"),
              std::string::npos)
        << "it serves as the user";
  }
  EXPECT_EQ(as_user("65534", {"--unmount", mnt_}).code, 0);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).empty(); }));
}

TEST_F(UpgradeTest, MountThatGivesErrorsIsServedAgain) {
  const TestMount mount(store_, "", mnt_);
  for (int i = 0; i <= 5; ++i) {
    const pid_t worker = WorkerOf(mnt_);
    kill(worker, SIGKILL);
    EXPECT_TRUE(Eventually(Seconds(5), [&] {
      const auto all = DaemonsOf(mnt_);
      return all.size() == 2 && std::ranges::find(all, worker) == all.end();
    }));
  }
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    return mount.Log().find("serves errors only") != std::string::npos;
  })) << mount.Log();
  ExpectDone(Upgrade(mnt_));
  EXPECT_TRUE(
      Eventually(Seconds(5), [&] { return ReadFile(mnt_ / "v2/a/0.1") == chunks_.at("0.1"); }));
  ExpectServes();
}

TEST_F(UpgradeTest, WorkerThatDoesNotEndIsKilled) {
  const TestMount mount(store_, "", mnt_);
  const pid_t worker = WorkerOf(mnt_);
  const pid_t keeper = KeeperOf(mnt_);
  kill(worker, SIGSTOP);
  const auto asked = AskForUpgrade(keeper, kProgram);
  EXPECT_TRUE(asked) << asked.error().message;
  EXPECT_NE(WorkerOf(mnt_), worker);
  ExpectServes();
}

}  // namespace
}  // namespace zarrfs::upgrade_test
