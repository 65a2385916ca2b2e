// A mount outlives its worker: another worker takes over.

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/mount/looker.h"
#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"
#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs::restart_test {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = ProgramUnderTest("zarrfs");
constexpr int kMaxEnds = 5;  // ends of workers within a minute

// The errno of looking up a path; 0 on success.
int LookupError(const fs::path& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? 0 : errno;
}

std::string ReadAll(int descriptor) {
  std::string bytes(65536, '\0');
  const ssize_t size = pread(descriptor, bytes.data(), bytes.size(), 0);
  EXPECT_GE(size, 0) << std::strerror(errno);
  bytes.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return bytes;
}

class RestartTest : public testing::Test {
 protected:
  // Ends the worker, and waits until the next one runs, which has another process id.
  void EndWorker(int signal_number = SIGKILL) {
    const pid_t worker = WorkerOf(mnt_);
    kill(worker, signal_number);
    EXPECT_TRUE(Eventually(Seconds(5), [&] {
      const auto all = DaemonsOf(mnt_);  // an ended process has no command line
      return all.size() == 2 && std::ranges::find(all, worker) == all.end();
    }));
  }
  // Lists a folder repeatedly until `end`. Returns the number of listings.
  int ListUntil(const std::atomic<bool>& end, const fs::path& folder, size_t names) {
    int listings = 0;
    for (; !end; ++listings) {
      std::error_code error;
      size_t found = 0;
      for (fs::directory_iterator at(folder, error), last; !error && at != last;
           at.increment(error)) {
        ++found;
      }
      EXPECT_FALSE(error) << error.message();
      EXPECT_EQ(found, names);
    }
    return listings;
  }

  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
  const fs::path mnt_ = folder_.Folder("mnt");
  const Unmounted whatever_happens_{mnt_};
};

struct Case {
  std::string name;
  std::string options;
  int signal_number = SIGKILL;
  std::string view = "v2/";
};

class ReadersTest : public RestartTest, public testing::WithParamInterface<Case> {};

TEST_P(ReadersTest, WaitAndGetTheRightBytes) {
  TestMount mount(store_, GetParam().options, mnt_);
  const uint64_t id = FindMount(mnt_.string())->id;
  std::atomic<bool> end = false;
  const fs::path array = mnt_ / (GetParam().view + "a");
  const size_t names = 2 + chunks_.size();  // with .zarray and .zattrs
  std::vector<std::unique_ptr<Looker>> lookers;
  for (int i = 0; i < 3; ++i) lookers.push_back(std::make_unique<Looker>(array, chunks_));
  int listings = 0;
  std::thread lister([&] { listings = ListUntil(end, array, names); });
  for (int i = 0; i < kMaxEnds; ++i) {
    const int right = lookers[0]->right();
    EXPECT_TRUE(Eventually(Seconds(30), [&] { return lookers[0]->right() > right + 100; }));
    EndWorker(GetParam().signal_number);
    const auto since = std::chrono::steady_clock::now();
    EXPECT_EQ(LookupError(array / ("never looked up " + std::to_string(i))), ENOENT);
    const Seconds waited = std::chrono::steady_clock::now() - since;
    EXPECT_LT(waited, Seconds(1) * SanitizerFactor());
  }
  const int right = lookers[0]->right();
  EXPECT_TRUE(Eventually(Seconds(30), [&] { return lookers[0]->right() > right + 100; }));
  end = true;
  lister.join();
  EXPECT_GT(listings, 10);
  for (const auto& looker : lookers) {
    EXPECT_EQ(looker->Stop(), std::set<int>());
    EXPECT_EQ(looker->wrong(), 0);
    EXPECT_GT(looker->right(), 100);
  }
  EXPECT_EQ(FindMount(mnt_.string())->id, id) << "it is the same mount";
}

INSTANTIATE_TEST_SUITE_P(
    , ReadersTest,
    testing::Values(Case{"Killed", ""}, Case{"Crashed", "", SIGSEGV}, Case{"Aborted", "", SIGABRT},
                    Case{"EachNameAsked", "ttl=0"}, Case{"EachOpenAsked", "open=message"},
                    Case{"WithoutEpoch", "no_epoch"}, Case{"OneView", "view=v2", SIGKILL, ""}),
    [](const auto& each) { return each.param.name; });

TEST_F(RestartTest, FoldersAndFilesThatAreOpenGoOn) {
  const TestMount mount(store_, "", mnt_);
  const int folder = open((mnt_ / "v3/a/c/0").c_str(), O_RDONLY | O_DIRECTORY);
  const int array = open((mnt_ / "v2/a").c_str(), O_PATH | O_DIRECTORY);
  const int chunk = open((mnt_ / "v2/a/1.1").c_str(), O_RDONLY);
  const int document = open((mnt_ / "v3/zarr.json").c_str(), O_RDONLY);
  DIR* const listing = opendir((mnt_ / "v2/a").c_str());
  ASSERT_TRUE(folder >= 0 && array >= 0 && chunk >= 0 && document >= 0 && listing != nullptr);
  Program resident({"sh", "-c", "cd " + (mnt_ / "v3/a").string() + " && read line && cat c/0/1"},
                   folder_ / "output", folder_ / "errors", [&] {
                     EXPECT_EQ(mkfifo((folder_ / "orders").c_str(), 0600), 0);
                     return open((folder_ / "orders").c_str(), O_RDWR | O_CLOEXEC);
                   }());
  SleepFor(Seconds(0.2));
  for (int i = 0; i < 2; ++i) EndWorker();
  EXPECT_EQ(ReadAll(chunk), chunks_.at("1.1"));
  EXPECT_EQ(ReadAll(document), ReadFile(mnt_ / "v3/zarr.json"));
  const int below = openat(folder, "1", O_RDONLY);
  EXPECT_EQ(ReadAll(below), chunks_.at("0.1"));
  const int other = openat(array, "0.2", O_RDONLY);
  EXPECT_EQ(ReadAll(other), chunks_.at("0.2"));
  std::set<std::string> names;
  while (const dirent* const entry = readdir(listing)) names.insert(entry->d_name);
  EXPECT_TRUE(names.contains("1.1"));
  closedir(listing);
  {
    const int orders = open((folder_ / "orders").c_str(), O_RDWR);
    EXPECT_EQ(write(orders, "go\n", 3), 3);
    EXPECT_EQ(resident.WaitFor(Seconds(5)), 0) << ReadFile(folder_ / "errors");
    close(orders);
  }
  EXPECT_EQ(ReadFile(folder_ / "output"), chunks_.at("0.1"));
  for (const int each : {folder, array, chunk, document, below, other}) close(each);
}

// No process watches the store while no worker runs.
TEST_F(RestartTest, WhatChangesMeanwhileIsSeen) {
  for (const std::string options : {"", "no_epoch"}) {
    TestMount mount(store_, options, mnt_);
    EXPECT_EQ(ReadFile(mnt_ / "v2/a/0.1"), chunks_.at("0.1"));
    EXPECT_EQ(LookupError(mnt_ / "v2/a/0.3"), ENOENT);
    const std::string metadata = ReadFile(mnt_ / "v2/a/.zattrs");
    mount.program().Signal(SIGSTOP);
    const pid_t worker = WorkerOf(mnt_);
    kill(worker, SIGKILL);
    EXPECT_TRUE(Eventually(Seconds(5), [&] {
      return ReadFile("/proc/" + std::to_string(worker) + "/stat").find(") Z ") !=
             std::string::npos;
    }));
    const SampleArray array = SampleArrayOfStore();
    Chunks shard = DecodeShard(array.chunks_per_shard(), ReadFile(store_ / "a/c/0/0"));
    const std::string before = shard.at(1);
    shard[1] = Pattern(700, 4242);
    Replace(store_ / "a/c/0/0", EncodeShard(array.chunks_per_shard(), shard));
    mount.program().Signal(SIGCONT);
    const auto is_new = [&] { return ReadFile(mnt_ / "v2/a/0.1") == shard[1]; };
    EXPECT_TRUE(Eventually(Seconds(8), is_new)) << options;
    shard[1] = before;
    Replace(store_ / "a/c/0/0", EncodeShard(array.chunks_per_shard(), shard));
    mount.Unmount();
  }
}

// The kernel cannot resend the requests that the killed worker had taken.
TEST_F(RestartTest, BeforeLinux69OnlyRequestsUnderWayFail) {
  const TestMount mount(store_, "no_resend,ttl=0", mnt_);
  Looker looker(mnt_ / "v2/a", chunks_);
  for (int i = 0; i < kMaxEnds; ++i) {
    const int right = looker.right();
    EXPECT_TRUE(Eventually(Seconds(5), [&] { return looker.right() > right + 100; }));
    const int failed = looker.failed();
    EndWorker();
    EXPECT_LE(looker.failed(), failed + 2);
  }
  const std::set<int> errors = looker.Stop();
  EXPECT_EQ(looker.wrong(), 0);
  for (const int error : errors) EXPECT_TRUE(error == ECONNABORTED || error == EIO) << error;
}

// A copy of the worker's end of its channel to the keeper; empty if it cannot be obtained.
Descriptor ChannelOf(pid_t worker) {
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, worker, 0)));
  for (int number = 3; number < 64; ++number) {
    Descriptor copy(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), number, 0)));
    int type = 0;
    socklen_t size = sizeof type;
    if (copy && getsockopt(copy.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
        type == SOCK_SEQPACKET) {
      return copy;
    }
  }
  return {};
}

// A worker that sends an invalid message, or closes its channel and runs on, does not stop the
// keeper. The keeper kills the worker, starts another one, and still handles signals.
TEST_F(RestartTest, KeeperOutlivesAnyMessageAndAnyEndOfTheChannel) {
  TestMount mount(store_, "", mnt_);
  const auto is_replaced_after = [&](std::string_view bytes) {
    const pid_t worker = WorkerOf(mnt_);
    const Descriptor channel = ChannelOf(worker);
    ASSERT_TRUE(channel) << std::strerror(errno);
    if (bytes.empty()) {
      EXPECT_EQ(shutdown(channel.get(), SHUT_RDWR), 0);
    } else {
      EXPECT_EQ(send(channel.get(), bytes.data(), bytes.size(), MSG_DONTWAIT),
                static_cast<ssize_t>(bytes.size()));
    }
    EXPECT_TRUE(Eventually(Seconds(10), [&] {
      const auto all = DaemonsOf(mnt_);
      return all.size() == 2 && std::ranges::find(all, worker) == all.end();
    }));
    EXPECT_EQ(ReadFile(mnt_ / "v2/a/1.1"), chunks_.at("1.1"));
  };
  std::string ready(32, '\0');
  ready[0] = 1;  // kReady, which the worker has sent before
  const std::string unknown(32, '\x7f');
  for (const std::string& bytes : {std::string("x"), std::string(), ready, unknown}) {
    is_replaced_after(bytes);
  }
  mount.Unmount();
}

TEST_F(RestartTest, StoreBelowItsOwnMountIsFoundAgain) {
  const Unmounted store_too(store_);
  ASSERT_EQ(RunProgram({kProgram, store_, store_, "-o", "nonempty"}).code, 0);
  const pid_t worker = WorkerOf(store_);
  kill(worker, SIGKILL);
  EXPECT_EQ(ReadFile(store_ / "v2/a/0.1"), chunks_.at("0.1"));
  EXPECT_EQ(ReadFile(store_ / "v2/a/1.1"), chunks_.at("1.1"));
  EXPECT_NE(WorkerOf(store_), worker);
}

TEST_F(RestartTest, NextWorkerIsAsTheFirst) {
  TestMount mount(store_, "log_level=debug", mnt_);
  EndWorker();
  const std::string options = ReadFile(mnt_ / ".zarrfs/options");
  EXPECT_NE(options.find("\nlog_level: debug\n"), std::string::npos) << options;
  EXPECT_NE(options.find("\ncapabilities: cap_dac_read_search\n"), std::string::npos) << options;
  EXPECT_NE(options.find("pid: " + std::to_string(KeeperOf(mnt_)) + "\n"), std::string::npos);
  EXPECT_NE(mount.Log().find("the worker was ended by signal 9; another one takes over"),
            std::string::npos)
      << mount.Log();
  // The next worker notices changes.
  const SampleArray array = SampleArrayOfStore();
  Chunks shard = DecodeShard(array.chunks_per_shard(), ReadFile(store_ / "a/c/0/0"));
  EXPECT_EQ(ReadFile(mnt_ / "v2/a/0.1"), chunks_.at("0.1"));
  shard[1] = Pattern(700, 4242);
  Replace(store_ / "a/c/0/0", EncodeShard(array.chunks_per_shard(), shard));
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return ReadFile(mnt_ / "v2/a/0.1") == shard[1]; }));
}

TEST_F(RestartTest, EndsAsBefore) {
  {
    TestMount mount(store_, "", mnt_);
    EndWorker();
    SleepFor(Seconds(2.1));  // until then, SIGTERM counts as a consequence of the kill
    mount.program().Signal(SIGTERM);
    EXPECT_EQ(mount.program().WaitFor(Seconds(5)), 0) << mount.Log();
    mount.Forget();
    EXPECT_FALSE(IsMounted(mnt_));
  }
  ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
  EndWorker();
  EXPECT_EQ(RunProgram({kProgram, "--unmount", mnt_}).code, 0);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).empty(); }));
  ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
  EndWorker();
  kill(KeeperOf(mnt_), SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(5), [&] { return DaemonsOf(mnt_).empty(); }));
  EXPECT_TRUE(IsMounted(mnt_)) << "dead";
}

// The errno of reading a file, which can be looked up and opened; 0 on success.
int ReadError(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_GE(fd, 0) << path << ": " << std::strerror(errno);
  char byte = 0;
  const int error = read(fd, &byte, 1) < 0 ? errno : 0;
  close(fd);
  return error;
}

int ListError(const fs::path& path) {
  DIR* const listing = opendir(path.c_str());
  const int error = listing == nullptr ? errno : 0;
  if (listing != nullptr) closedir(listing);
  return error;
}

TEST_F(RestartTest, AfterFiveEndsInAMinuteThereAreErrorsAndNothingIsAbsent) {
  for (const std::string view : {"", "v2", "v3"}) {
    const fs::path v2 = view.empty() ? mnt_ / "v2" : mnt_;
    const fs::path v3 = view.empty() ? mnt_ / "v3" : mnt_;
    TestMount mount(store_, view.empty() ? "" : "view=" + view, mnt_);
    const std::string looked_up = ReadFile(view == "v3" ? v3 / "a/c/0/1" : v2 / "a/0.1");
    EXPECT_EQ(looked_up, chunks_.at("0.1"));
    const int array = open((mnt_ / (view.empty() ? "v2/a" : "a")).c_str(), O_PATH | O_DIRECTORY);
    const int chunk = open((view == "v3" ? v3 / "a/c/1/1" : v2 / "a/1.1").c_str(), O_RDONLY);
    for (int i = 0; i <= kMaxEnds; ++i) EndWorker();
    EXPECT_TRUE(Eventually(Seconds(5), [&] {
      return mount.Log().find("serves errors only: 6 workers ended") != std::string::npos;
    })) << mount.Log();
    if (view != "v3") {
      for (const std::string name : {"a/0.0", "a/0.1", "a/0.3", "a/3.3", "a/.zarray", ".zgroup"}) {
        EXPECT_EQ(ReadError(v2 / name), EIO) << name;
      }
      EXPECT_EQ(LookupError(v2 / "a/7"), 0) << "a name that a chunk may have";
    }
    if (view != "v2") {
      for (const std::string name : {"a/c/0/0", "a/c/0/3", "a/c/3/3", "a/zarr.json", "zarr.json"}) {
        EXPECT_EQ(ReadError(v3 / name), EIO) << name;
      }
      EXPECT_EQ(ListError(v3 / "a/c/0"), EIO);
    }
    for (const std::string name : {"a/something", "b", "b/0.0"}) {
      EXPECT_EQ(LookupError((view == "v3" ? v3 : v2) / name), EIO) << name;
    }
    EXPECT_EQ(ListError(mnt_), EIO);
    EXPECT_EQ(ListError((view == "v3" ? v3 : v2) / "a"), EIO);
    // Files that were open before.
    char byte = 0;
    EXPECT_EQ(pread(chunk, &byte, 1, 0), -1);
    EXPECT_EQ(errno, EIO);
    struct stat info = {};
    EXPECT_EQ(fstatat(array, view == "v3" ? "c" : "0.1", &info, 0), 0) << std::strerror(errno);
    const Outcome list = RunProgram({kProgram, "--list"});
    EXPECT_NE(list.output.find(std::to_string(mount.program().pid()) + " " + mnt_.string()),
              std::string::npos)
        << list.output;
    EXPECT_NE(list.errors.find(mnt_.string() + " serves errors only: 6 workers ended"),
              std::string::npos)
        << list.errors;
    // The caretaker is also replaced.
    EndWorker();
    EXPECT_EQ(LookupError((view == "v3" ? v3 : v2) / "b"), EIO);
    EXPECT_EQ(RunProgram({kProgram, "--unmount", mnt_}).code, 0) << "though it is in use";
    EXPECT_FALSE(IsMounted(mnt_));
    close(array);
    close(chunk);
    EXPECT_EQ(mount.program().WaitFor(Seconds(8)), 0) << mount.Log();
    mount.Forget();
  }
}

TEST_F(RestartTest, DetachedMountInUseIsServedOn) {
  ASSERT_EQ(RunProgram({kProgram, store_, mnt_}).code, 0);
  const int folder = open((mnt_ / "v2/a").c_str(), O_PATH | O_DIRECTORY);
  ASSERT_EQ(umount2(mnt_.c_str(), MNT_DETACH), 0);
  EndWorker();
  const int chunk = openat(folder, "0.1", O_RDONLY);
  EXPECT_EQ(ReadAll(chunk), chunks_.at("0.1"));
  close(chunk);
  close(folder);
  EXPECT_TRUE(Eventually(Seconds(8), [&] { return DaemonsOf(mnt_).empty(); }));
}

// Another program unmounts, and the stopped worker cannot notice.
TEST_F(RestartTest, StoppedWorkerEndsWithItsMount) {
  TestMount mount(store_, "", mnt_);
  const std::vector<pid_t> all = DaemonsOf(mnt_);
  EXPECT_EQ(all.size(), 2U);
  kill(WorkerOf(mnt_), SIGSTOP);
  ASSERT_EQ(umount2(mnt_.c_str(), 0), 0) << std::strerror(errno);
  mount.Forget();
  EXPECT_EQ(mount.program().WaitFor(Seconds(10)), 0) << mount.Log();
  EXPECT_TRUE(DaemonsOf(mnt_).empty());
  EXPECT_NE(mount.Log().find("the mount is gone, but its worker still runs"), std::string::npos)
      << mount.Log();
}

TEST_F(RestartTest, WorkerThatIsStoppedIsReportedUntilItGoesOn) {
  TestMount mount(store_, "", mnt_);
  const auto listed = [&] { return RunProgram({kProgram, "--list"}).errors; };
  EXPECT_EQ(listed().find("the worker is"), std::string::npos) << listed();
  const pid_t worker = WorkerOf(mnt_);
  kill(worker, SIGSTOP);
  const std::string silent = mnt_.string() + ": the worker is silent: no heartbeat for ";
  ASSERT_TRUE(
      Eventually(Seconds(30), [&] { return mount.Log().find(silent) != std::string::npos; }));
  const Outcome list = RunProgram({kProgram, "--list"});
  EXPECT_NE(list.errors.find(silent), std::string::npos) << list.errors;
  EXPECT_NE(list.output.find(" silent " + mnt_.string()), std::string::npos) << list.output;
  kill(worker, SIGCONT);
  EXPECT_TRUE(Eventually(Seconds(10), [&] {
    return mount.Log().find(mnt_.string() + ": the worker is well again") != std::string::npos;
  }));
  EXPECT_EQ(listed().find("the worker is"), std::string::npos) << listed();
}

// The keeper is stopped, too, as on a suspended machine.
TEST_F(RestartTest, WorkerThatIsStoppedWithItsKeeperIsNoAlarm) {
  TestMount mount(store_, "", mnt_);
  const pid_t worker = WorkerOf(mnt_);
  kill(worker, SIGSTOP);
  mount.program().Signal(SIGSTOP);
  SleepFor(Seconds(17));
  mount.program().Signal(SIGCONT);
  SleepFor(Seconds(1.5));
  kill(worker, SIGCONT);
  EXPECT_EQ(mount.Log().find("the worker is silent"), std::string::npos) << mount.Log();
}

TEST_F(RestartTest, UnmountedWhileThereIsNoWorkerItEnds) {
  TestMount mount(store_, "", mnt_);
  const pid_t worker = WorkerOf(mnt_);
  mount.program().Signal(SIGSTOP);
  kill(worker, SIGKILL);
  EXPECT_EQ(umount2(mnt_.c_str(), 0), 0);
  mount.program().Signal(SIGCONT);
  EXPECT_EQ(mount.program().WaitFor(Seconds(5)), 0) << mount.Log();
  mount.Forget();
}

}  // namespace
}  // namespace zarrfs::restart_test
